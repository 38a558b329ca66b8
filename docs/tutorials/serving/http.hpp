/* As much of HTTP/1.1 as a service of numbers needs: requests with a length, kept connections. */
#pragma once
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <sys/socket.h>

constexpr std::size_t MAX_HEAD_BYTES = 16384, MAX_BODY_BYTES = 1 << 20;

struct Request {
    std::string method, path, body;
    bool keeps_connection = true;
};

class Connection {
public:
    enum Result { OK, CLOSED, BAD };
    explicit Connection(int socket) : socket_(socket) {}

    /* Wait for a request. After a BAD one the connection has to be closed. */
    Result read(Request &request) {
        std::size_t end;
        while ((end = received_.find("\r\n\r\n")) == std::string::npos)
            if (received_.size() > MAX_HEAD_BYTES)
                return BAD;
            else if (!receive())
                return received_.empty() ? CLOSED : BAD;
        const std::string head = received_.substr(0, end + 2);
        const std::size_t space = head.find(' '), second = head.find(' ', space + 1);
        std::size_t length = 0;
        if (space == std::string::npos || second == std::string::npos ||
            head.compare(second + 1, 7, "HTTP/1.") != 0 || !read_length(head, length))
            return BAD;
        while (received_.size() < end + 4 + length)
            if (!receive())
                return BAD;
        request.method = head.substr(0, space);
        request.path = head.substr(space + 1, second - space - 1);
        request.body = received_.substr(end + 4, length);
        request.keeps_connection = field(head, "connection") != "close" &&
                                   head.compare(second + 1, 8, "HTTP/1.0") != 0;
        received_.erase(0, end + 4 + length);
        return OK;
    }

    bool write(int status, const char *reason, const std::string &body, bool keeps_connection) {
        const std::string text = "HTTP/1.1 " + std::to_string(status) + " " + reason +
                                 "\r\nContent-Type: application/json\r\nContent-Length: " +
                                 std::to_string(body.size()) +
                                 (keeps_connection ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n") +
                                 body;
        for (std::size_t sent = 0; sent < text.size();) {
            const ssize_t n = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (n <= 0)
                return false;
            sent += static_cast<std::size_t>(n);
        }
        return true;
    }

private:
    int socket_;
    std::string received_;

    bool receive() {
        char bytes[16384];
        const ssize_t n = recv(socket_, bytes, sizeof bytes, 0);
        if (n > 0)
            received_.append(bytes, static_cast<std::size_t>(n));
        return n > 0;
    }

    /* A field of the head in small letters; empty where there is none. */
    static std::string field(std::string head, const std::string &name) {
        std::transform(head.begin(), head.end(), head.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        const std::size_t at = head.find("\r\n" + name + ":");
        if (at == std::string::npos)
            return "";
        const std::size_t first = head.find_first_not_of(" \t", at + name.size() + 3);
        return head.substr(first, head.find("\r\n", first) - first);
    }

    static bool read_length(const std::string &head, std::size_t &length) {
        if (!field(head, "transfer-encoding").empty())
            return false;
        const std::string text = field(head, "content-length");
        if (text.empty())
            return true;
        const char *end = text.data() + text.size();
        const std::from_chars_result done = std::from_chars(text.data(), end, length);
        return done.ec == std::errc() && done.ptr == end && length <= MAX_BODY_BYTES;
    }
};
