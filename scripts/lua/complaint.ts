/** Something a Lua file says that is not so: where, what was expected there, what is there. */
export interface Complaint {
  readonly file: string;
  readonly line: number;
  readonly expected: string;
  readonly found: string;
}

/** Thrown when a file cannot be read any further. Rules that can go on return complaints instead. */
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
