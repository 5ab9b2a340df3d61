/** One line on stderr that says what is being measured: rewritten in place on a terminal, one line for each round elsewhere. */
export class Progress {
  #lastRound = '';

  tell(scenario: string, round: string, participant: string): void {
    if (process.stderr.isTTY) {
      process.stderr.write(`\r\x1b[K${scenario} · ${round} · ${participant}`);
      return;
    }
    if (this.#lastRound === `${scenario}${round}`) return;
    this.#lastRound = `${scenario}${round}`;
    process.stderr.write(`${scenario} · ${round}\n`);
  }

  clear(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }
}
