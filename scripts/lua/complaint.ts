/** An error in a Lua file: its place, what was expected there, and what was found. */
export interface Complaint {
  readonly file: string;
  readonly line: number;
  readonly expected: string;
  readonly found: string;
}

/** Thrown where reading a file cannot go on. Rules, which can go on, return complaints instead. */
export class LuaComplaint extends Error {
  readonly complaint: Complaint;

  constructor(complaint: Complaint) {
    super(describeComplaint(complaint));
    this.name = 'LuaComplaint';
    this.complaint = complaint;
  }
}

export function describeComplaint({ file, line, expected, found }: Complaint): string {
  return `${file}:${line}: expected ${expected}, found ${found}`;
}
