# A small lock over Debian's ruby-redis: SET NX PX with a random token, released and extended by scripts that compare.

require "picklock_worker"
require "redis"
require "securerandom"

class Worker < PicklockWorker::Worker
  promises "expiry", "extends", "token"
  library "ruby-redis #{Redis::VERSION}, a small lock"

  RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0".freeze
  EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0".freeze

  def init(settings)
    @settings = settings
    @redis = Redis.new(url: settings.url, reconnect_attempts: 0)
  end

  def acquire(wait_ms)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) + wait_ms
    @token = SecureRandom.hex(8)
    until @redis.set(@settings.key, @token, nx: true, px: @settings.ttl_ms)
      return false if Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) >= deadline

      sleep 0.05
    end
    true
  end

  def extend = @redis.eval(EXTEND, keys: [@settings.key], argv: [@token, @settings.ttl_ms]) == 1
  def release = @redis.eval(RELEASE, keys: [@settings.key], argv: [@token]) == 1
  def close = @redis.close
end

PicklockWorker.run(Worker)
