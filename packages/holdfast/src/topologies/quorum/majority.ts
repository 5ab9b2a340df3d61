/** Answers of several servers that come one by one, and a verdict as soon as a majority makes it certain. */

/**
 * Asks the judge after each answer, with the answers so far (undefined: not yet). Resolves with the first verdict that
 * is not undefined; nobody looks at the answers that come after it. With all answers the judge must have a verdict. An
 * answer that rejects rejects the whole.
 */
export function decide<Answer, Verdict>(
  answers: readonly Promise<Answer>[],
  judge: (answers: readonly (Answer | undefined)[]) => Verdict | undefined,
): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    const heard: (Answer | undefined)[] = answers.map(() => undefined);
    let isDecided = false;
    answers.forEach((answer, i) => {
      answer.then((value) => {
        if (isDecided) return;
        heard[i] = value;
        const verdict = judge(heard);
        if (verdict === undefined) return;
        isDecided = true;
        resolve(verdict);
      }, reject);
    });
  });
}

/** How many of the answers so far are of that kind. */
export function count<Answer extends { readonly is: string }>(
  answers: readonly (Answer | undefined)[],
  is: Answer['is'],
): number {
  let sum = 0;
  for (const answer of answers) if (answer?.is === is) sum += 1;
  return sum;
}

/** How many have not answered yet. */
export function countPending(answers: readonly unknown[]): number {
  let sum = 0;
  for (const answer of answers) if (answer === undefined) sum += 1;
  return sum;
}
