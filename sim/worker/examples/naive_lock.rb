# A naive lock over Debian's ruby-redis: SET NX PX, released by a plain DEL, whoever's key that is by then.

require "picklock_worker"
require "redis"

class Worker < PicklockWorker::Worker
  promises "expiry"
  library "ruby-redis #{Redis::VERSION}, a plain DEL"

  def init(settings)
    @settings = settings
    @redis = Redis.new(url: settings.url, reconnect_attempts: 0)
  end

  def acquire(_wait_ms) = @redis.set(@settings.key, @settings.name, nx: true, px: @settings.ttl_ms)
  def release = @redis.del(@settings.key) == 1
  def close = @redis.close
end

PicklockWorker.run(Worker)
