export function isCi(env?: Readonly<Record<string, string | undefined>>): boolean;
