package holdfast.interop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Threads that take one lock in a loop for a time, and write each turn into the journal that all processes share. */
final class Contention {
  private final Function<Request, Guard> guards;
  private final Request request;

  Contention(Function<Request, Guard> guards, Request request) {
    this.guards = guards;
    this.request = request;
  }

  String run() throws Exception {
    int count = (int) request.number("threads", 1);
    ExecutorService threads = Executors.newFixedThreadPool(count);
    List<Double> waitsMs = new ArrayList<>();
    try (Journal journal = new Journal(Path.of(request.text("journal")), request.text("who"))) {
      long endNs = System.nanoTime() + request.number("durationMs") * 1_000_000;
      Callable<List<Double>> caller = () -> contend(journal, endNs);
      List<Future<List<Double>>> all = new ArrayList<>();
      for (int thread = 0; thread < count; thread += 1) all.add(threads.submit(caller));
      for (Future<List<Double>> one : all) waitsMs.addAll(one.get());
    } finally {
      threads.shutdown();
    }
    String list =
        waitsMs.stream().map(ms -> String.format(Locale.ROOT, "%.1f", ms)).collect(Collectors.joining(","));
    return "\"turns\":" + waitsMs.size() + ",\"waitsMs\":[" + list + "]";
  }

  private List<Double> contend(Journal journal, long endNs) throws Exception {
    Guard guard = guards.apply(request);
    long sectionMs = request.number("sectionMs");
    long pauseMs = request.number("pauseMs", 0);
    List<Double> waitsMs = new ArrayList<>();
    while (System.nanoTime() < endNs) {
      long fromNs = System.nanoTime();
      guard.take(Guard.FOR_EVER, Guard.RENEWED);
      waitsMs.add((System.nanoTime() - fromNs) / 1e6);
      journal.enter(guard.fence());
      if (sectionMs > 0) Thread.sleep(sectionMs);
      journal.leave();
      guard.free();
      if (pauseMs > 0) Thread.sleep(pauseMs);
    }
    return waitsMs;
  }
}
