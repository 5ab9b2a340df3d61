/** The escapes of the library without its limit of length: tables are cut by columns, and in a pipe nothing is cut. */
import { printable as printableWithin, quote as quoteWithin } from 'holdfast';

export function printable(text: string): string {
  return printableWithin(text, Number.POSITIVE_INFINITY);
}

export function quote(text: string): string {
  return quoteWithin(text, Number.POSITIVE_INFINITY);
}
