/** Every measurement has a time limit: a participant that takes longer counts as stuck. */
export class StuckError extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs / 1000} s`);
    this.name = 'StuckError';
  }
}

export async function within<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StuckError(limitMs)), limitMs);
  });
  // Nobody awaits work that fails after its limit.
  work.catch(() => {});
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
