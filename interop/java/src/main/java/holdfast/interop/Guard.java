package holdfast.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** RLock or RFencedLock behind one face. One object serves one caller. */
abstract class Guard {
  static final long FOR_EVER = -1;
  static final long RENEWED = -1;

  private final RLock lock;

  private Guard(RLock lock) {
    this.lock = lock;
  }

  static Guard of(RedissonClient client, String kind, String name) {
    return switch (kind) {
      case "lock" -> new Plain(client.getLock(name));
      case "fenced" -> new Fenced(client.getFencedLock(name));
      default -> throw new IllegalArgumentException("unknown kind " + kind);
    };
  }

  /** False when the wait is over. A wait of 0 is one attempt. */
  abstract boolean take(long waitMs, long leaseMs) throws InterruptedException;

  /** The fence of the last take; 0 for none. */
  abstract long fence();

  final void free() {
    lock.unlock();
  }

  private static final class Plain extends Guard {
    private final RLock lock;

    Plain(RLock lock) {
      super(lock);
      this.lock = lock;
    }

    @Override
    boolean take(long waitMs, long leaseMs) throws InterruptedException {
      if (waitMs != FOR_EVER) return lock.tryLock(waitMs, leaseMs, MILLISECONDS);
      if (leaseMs == RENEWED) lock.lock();
      else lock.lock(leaseMs, MILLISECONDS);
      return true;
    }

    @Override
    long fence() {
      return 0;
    }
  }

  private static final class Fenced extends Guard {
    private final RFencedLock lock;
    private long fence;

    Fenced(RFencedLock lock) {
      super(lock);
      this.lock = lock;
    }

    @Override
    boolean take(long waitMs, long leaseMs) throws InterruptedException {
      Long token;
      if (waitMs != FOR_EVER) token = lock.tryLockAndGetToken(waitMs, leaseMs, MILLISECONDS);
      // The form with a lease ignores it (4.7.0), so a request with a lease for ever is refused rather than renewed.
      else if (leaseMs != RENEWED) throw new IllegalArgumentException("a fenced take with a lease needs waitMs");
      else token = lock.lockAndGetToken();
      fence = token == null ? 0 : token;
      return token != null;
    }

    @Override
    long fence() {
      return fence;
    }
  }
}
