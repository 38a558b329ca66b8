/* Requests that wait together are computed together. */
#pragma once
#include "flambeau/runtime.hpp"
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

/* What one request gets: a row of the result, and how many rows were computed with it. */
struct Answer {
    std::vector<float> row;
    std::size_t batch;
};

/* A thread that runs a program of one input and one output, whose first dimension is the batch.
 *
 * A batch is what arrived while the one before it was computed, `most` at most: an idle server
 * answers at once, and a busy one computes more rows at a time. */
class Batcher {
public:
    Batcher(const flambeau::Program &program, std::size_t most, std::size_t waiting)
        : program_(program), shape_(program.inputs().at(0).shape), most_(most), waiting_(waiting),
          worker_([this] { work(); }) {
        for (std::size_t d = 1; d < shape_.size(); d++)
            elements_ *= static_cast<std::size_t>(shape_[d]);
    }
    ~Batcher() { stop(); }

    /* Numbers of one request. */
    std::size_t elements() const { return elements_; }

    /* Let a row wait for its batch; nothing where too many wait, or the server stops. */
    std::optional<std::future<Answer>> submit(std::vector<float> row) {
        std::lock_guard<std::mutex> held(mutex_);
        if (stops_ || jobs_.size() >= waiting_)
            return std::nullopt;
        jobs_.push_back({std::move(row), {}});
        arrived_.notify_one();
        return jobs_.back().answer.get_future();
    }

    /* Compute what waits, take nothing more. */
    void stop() {
        {
            std::lock_guard<std::mutex> held(mutex_);
            stops_ = true;
            arrived_.notify_one();
        }
        if (worker_.joinable())
            worker_.join();
    }

private:
    struct Job {
        std::vector<float> row;
        std::promise<Answer> answer;
    };
    const flambeau::Program &program_;
    flambeau::Shape shape_;
    std::size_t most_, waiting_, elements_ = 1;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Job> jobs_;
    bool stops_ = false;
    std::thread worker_;        // the last member: it uses the others

    void work() {
        flambeau::Session session(program_);
        for (;;) {
            std::vector<Job> batch = take();
            if (batch.empty())
                return;
            try {
                compute(session, batch);
            } catch (...) {
                for (Job &job : batch)
                    job.answer.set_exception(std::current_exception());
            }
        }
    }

    std::vector<Job> take() {
        std::unique_lock<std::mutex> held(mutex_);
        arrived_.wait(held, [this] { return stops_ || !jobs_.empty(); });
        std::vector<Job> batch;
        while (!jobs_.empty() && batch.size() < most_) {
            batch.push_back(std::move(jobs_.front()));
            jobs_.pop_front();
        }
        return batch;
    }

    void compute(flambeau::Session &session, std::vector<Job> &batch) {
        std::vector<float> rows;
        for (const Job &job : batch)
            rows.insert(rows.end(), job.row.begin(), job.row.end());
        flambeau::Shape shape = shape_;
        shape[0] = static_cast<std::int64_t>(batch.size());
        const std::vector<flambeau::Tensor> results = session.run({flambeau::buffer(rows, shape)});
        const std::vector<float> all = results.at(0).values<float>();
        const std::size_t width = all.size() / batch.size();
        for (std::size_t i = 0; i < batch.size(); i++) {
            auto first = all.begin() + static_cast<std::ptrdiff_t>(i * width);
            batch[i].answer.set_value(
                {{first, first + static_cast<std::ptrdiff_t>(width)}, batch.size()});
        }
    }
};
