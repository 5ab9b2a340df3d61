/** One way of taking a lock, so that scenarios can run them side by side. */
export interface Contestant {
  readonly name: string;
  /** Takes the lock on a free key and gives it back. */
  once(key: string): Promise<void>;
  /** Waits for the lock, runs the section, gives it back. Absent: this one cannot wait. */
  under?(key: string, section: () => Promise<void> | void): Promise<void>;
  close(): Promise<void>;
}
