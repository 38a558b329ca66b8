/* A program behind HTTP: POST /predict with {"input": [...]}, the numbers of one row.
 *
 *     server digits.program 8000 [ROWS [WAITING]]
 *
 * answers {"output": [...], "batch": 3}; 400 where the request is none, 503 where too many wait. On
 * SIGTERM and SIGINT it answers what it has taken, and ends. */
#include "batcher.hpp"
#include "http.hpp"
#include "numbers.hpp"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <list>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace {

constexpr std::size_t MAX_CONNECTIONS = 1000;

struct Response {
    int status;
    const char *reason;
    std::string body;
};

Response refusal(int status, const char *reason, const std::string &text) {
    return {status, reason, "{\"error\": \"" + text + "\"}"};
}

Response answer(Batcher &batcher, const Request &request) {
    if (request.path == "/health")
        return {200, "OK", "{}"};
    if (request.path != "/predict")
        return refusal(404, "Not Found", "POST /predict");
    if (request.method != "POST")
        return refusal(405, "Method Not Allowed", "POST /predict");
    std::optional<std::vector<float>> row = Reader(request.body).row();
    const std::string count = std::to_string(batcher.elements());
    if (!row || row->size() != batcher.elements())
        return refusal(400, "Bad Request",
                       "send {'input': [" + count + " numbers]}" +
                           (row ? ", not " + std::to_string(row->size()) : ""));
    std::optional<std::future<Answer>> waiting = batcher.submit(std::move(*row));
    if (!waiting)
        return refusal(503, "Service Unavailable", "too many requests wait; try again later");
    try {
        const Answer found = waiting->get();
        return {200, "OK", "{\"output\": " + written(found.row) +
                               ", \"batch\": " + std::to_string(found.batch) + "}"};
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
        return refusal(500, "Internal Server Error", "the program failed on this batch");
    }
}

/* A thread for each connection; `close` ends their waiting for requests, and waits for them. */
class Connections {
public:
    explicit Connections(Batcher &batcher) : batcher_(batcher) {}

    void add(int socket) {
        join_finished();
        if (entries_.size() >= MAX_CONNECTIONS) {
            ::close(socket);
            return;
        }
        Entry &entry = entries_.emplace_back(socket);
        entry.thread = std::thread([this, &entry] { serve(entry); });
    }
    void close() {
        for (Entry &entry : entries_)
            shutdown(entry.socket, SHUT_RD);
        for (Entry &entry : entries_)
            finish(entry);
        entries_.clear();
    }

private:
    struct Entry {
        explicit Entry(int s) : socket(s) {}
        int socket;
        std::atomic<bool> is_finished{false};
        std::thread thread;
    };
    Batcher &batcher_;
    std::list<Entry> entries_;

    void serve(Entry &entry) {
        Connection connection(entry.socket);
        Request request;
        for (bool goes_on = true; goes_on;) {
            const Connection::Result result = connection.read(request);
            if (result == Connection::CLOSED)
                break;
            const Response made = result == Connection::BAD
                                      ? refusal(400, "Bad Request", "no request with a length")
                                      : answer(batcher_, request);
            goes_on = result == Connection::OK && request.keeps_connection;
            goes_on = connection.write(made.status, made.reason, made.body, goes_on) && goes_on;
        }
        shutdown(entry.socket, SHUT_WR);
        entry.is_finished = true;
    }
    static void finish(Entry &entry) {
        entry.thread.join();
        ::close(entry.socket);
    }
    void join_finished() {
        for (auto entry = entries_.begin(); entry != entries_.end();)
            if (entry->is_finished) {
                finish(*entry);
                entry = entries_.erase(entry);
            } else {
                ++entry;
            }
    }
};

/* A socket that listens on the loopback; its port, which 0 leaves open. */
int listening(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(socket, reinterpret_cast<sockaddr *>(&address), size) || listen(socket, 1024) ||
        getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size))
        throw std::runtime_error("cannot listen on port " + std::to_string(port));
    std::cout << "listening on port " << ntohs(address.sin_port) << std::endl;
    return socket;
}

/* Signals as a file, blocked in all threads that are started later. */
int ending_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

void serve(const char *path, int port, std::size_t most, std::size_t waiting) {
    const int signals = ending_signals();
    const flambeau::Program program(path);
    Batcher batcher(program, most, waiting);
    Connections connections(batcher);
    const int server = listening(port);
    for (;;) {
        pollfd files[2] = {{server, POLLIN, 0}, {signals, POLLIN, 0}};
        if (poll(files, 2, -1) < 0 || files[1].revents)
            break;
        const int socket = accept4(server, nullptr, nullptr, SOCK_CLOEXEC), on = 1;
        if (socket < 0)
            continue;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const timeval patience{10, 0};      // with clients that do not read
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        connections.add(socket);
    }
    close(server);
    batcher.stop();
    connections.close();
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::cerr << "usage: server PROGRAM PORT [ROWS [WAITING]]\n";
        return 2;
    }
    try {
        serve(argv[1], std::atoi(argv[2]), argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 32,
              argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 256);
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
