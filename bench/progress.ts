/** One line on stderr that says what is being measured: rewritten on a terminal, a line a round elsewhere. */
export class Progress {
  #lastRound = '';

  tell(scenario: string, round: string, contestant: string): void {
    if (process.stderr.isTTY) {
      process.stderr.write(`\r\x1b[K${scenario} · ${round} · ${contestant}`);
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
