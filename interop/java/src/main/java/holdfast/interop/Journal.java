package holdfast.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file to which every owner appends a line when it enters and one when it leaves. The kernel orders the appends of all
 * processes, so two owners at once show as two lines `enter` in a row.
 */
final class Journal implements AutoCloseable {
  private final FileChannel file;
  private final String who;

  Journal(Path path, String who) throws IOException {
    this.file = FileChannel.open(path, StandardOpenOption.APPEND, StandardOpenOption.CREATE);
    this.who = who;
  }

  void enter(long fence) throws IOException {
    write("enter " + who + " " + System.currentTimeMillis() + " " + fence);
  }

  void leave() throws IOException {
    write("leave " + who + " " + System.currentTimeMillis() + " 0");
  }

  @Override
  public void close() throws IOException {
    file.close();
  }

  private void write(String line) throws IOException {
    file.write(ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8)));
  }
}
