/** What a promise resolves with, and when it did, by this process's monotonic clock. */
export async function timed<Value>(promise: Promise<Value>): Promise<{ value: Value; atMs: number }> {
  const value = await promise;
  return { value, atMs: performance.now() };
}
