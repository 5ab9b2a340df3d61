/** Runs `work` for 0 to `count - 1`, `size` of them at once: the next chunk begins when the whole chunk has ended. */
export async function inChunks(
  count: number,
  size: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < count; from += size) {
    await Promise.all(Array.from({ length: Math.min(size, count - from) }, (_, i) => work(from + i)));
  }
}
