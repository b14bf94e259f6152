# picklock_worker - what a lock program in Ruby needs to be tested by picklock. Standard library only.
#
#   require "picklock_worker"
#
#   class Worker < PicklockWorker::Worker
#     promises "expiry", "extends"
#
#     def init(settings)                                # once, and at each reset
#       @lock = MyLock.new(settings.key, settings.ttl_ms, settings.url)
#     end
#
#     def acquire(wait_ms) = @lock.acquire(wait_ms)     # true, false, or a fence (a number)
#     def extend = @lock.extend
#     def release = @lock.release                       # true, or false: it was not mine
#   end
#
#   PicklockWorker.run(Worker)
#
# What a method raises is an error: nobody knows whether it has happened. Refused is `false` (or `nil`), and nothing else.
#
# Standard output is picklock's alone: once this is loaded, what anybody prints goes to standard error. See docs/WORKERS.md of picklock.

require "json"

module PicklockWorker
  # What `init` said: key, ttl_ms, work_ms, client (0, 1, ..), name ("A"), servers (["127.0.0.1:6379", ..]); user, password: those
  # that a connection may give.
  Settings = Struct.new(:key, :ttl_ms, :work_ms, :client, :name, :servers, :user, :password, keyword_init: true) do
    # [host, port] of a server.
    def address(server = 0)
      host, port = servers[server].split(":")
      [host, Integer(port)]
    end

    def url(server = 0) = "redis://#{servers[server]}"
  end

  # A client. Override init, acquire, release; extend, close where there is something to do.
  class Worker
    class << self
      def promises(*names) = names.empty? ? (@promises || ["expiry"]) : (@promises = names)
      def library(name = nil) = name ? (@library = name) : @library.to_s
    end

    def init(_settings) = raise(NotImplementedError, "init(settings)")
    def acquire(_wait_ms) = raise(NotImplementedError, "acquire(wait_ms)")
    def extend = raise(NotImplementedError, "extend")
    def release = raise(NotImplementedError, "release")

    # The acquire that goes on is to end soon (promise it with "cancels"). True: it will. In a thread of its own.
    def cancel = false

    # Before a reset: lets go of connections, threads, timers. Nothing of the attempt before may go on.
    def close; end

    # The library knows that the lock is gone (promise it with "notice").
    def lost = PicklockWorker.say({ event: "lost" })
  end

  @writing = Mutex.new

  def self.say(answer)
    @writing.synchronize { @out.syswrite(JSON.generate(answer) << "\n") }
  end

  # The protocol's own descriptor; whoever else writes to standard output writes to standard error: while a library is loaded, too.
  def self.take_output
    $stdout.flush
    @out = $stdout.dup
    $stdout.reopen($stderr)
  end
  take_output

  # The protocol's own; whoever else reads standard input reads nothing.
  def self.take_input
    incoming = $stdin.dup
    $stdin.reopen(File::NULL)
    incoming
  end

  def self.outcome(result)
    result.is_a?(Integer) ? { ok: true, fence: result } : { ok: result ? true : false }
  end

  def self.clocks
    { monotonic_us: Process.clock_gettime(Process::CLOCK_MONOTONIC, :microsecond),
      wall_us: Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond) }
  end

  # Requests by name.
  class Runner
    def initialize(kind)
      @kind = kind
    end

    def make
      @worker&.close
      @worker = @kind.new
      @worker.init(@settings)
      { ready: true, promises: @kind.promises, library: @kind.library }
    end

    def perform(request)
      case request["op"]
      when "init"
        @settings = Settings.new(**request.transform_keys(&:to_sym).slice(*Settings.members))
        make
      when "reset" then make
      when "time" then PicklockWorker.clocks
      when "acquire" then PicklockWorker.outcome(@worker.acquire(request["wait_ms"]))
      when "extend" then PicklockWorker.outcome(@worker.extend)
      when "release" then PicklockWorker.outcome(@worker.release)
      when "cancel" then PicklockWorker.outcome(@worker.cancel)
      else raise ArgumentError, "unknown op #{request['op'].inspect}"
      end
    end

    def answer(request)
      PicklockWorker.say({ id: request["id"] }.merge(perform(request)))
    rescue StandardError, NotImplementedError => error # whatever a library raises is its error, and no end of the worker
      raise if %w[init reset].include?(request["op"])

      # what bytes a library puts into its message is its own affair
      message = error.message.dup.force_encoding("UTF-8").scrub
      PicklockWorker.say({ id: request["id"], error: "#{error.class}: #{message}" })
    end
  end

  # Serves until picklock closes standard input.
  def self.run(kind)
    incoming = take_input
    Signal.trap("USR1") do # where it is, when it does not come to rest
      calls = Thread.main.backtrace.drop_while { |call| call.include?("picklock_worker") }
      calls.first(8).each { |call| $stderr.puts("File #{call}") }
    end
    runner = Runner.new(kind)
    requests = kind.promises.include?("cancels") ? read_ahead(runner, incoming) : incoming.each_line.lazy.map { |line| JSON.parse(line) }
    requests.each { |request| runner.answer(request) }
  end

  # Requests, read by a thread of their own, which performs those that cancel what goes on.
  def self.read_ahead(runner, incoming)
    waiting = Queue.new
    Thread.new do
      incoming.each_line do |line|
        request = JSON.parse(line)
        request["op"] == "cancel" ? runner.answer(request) : waiting << request
      end
      waiting.close
    end
    Enumerator.new { |each| while (request = waiting.pop) do each << request end }
  end
end
