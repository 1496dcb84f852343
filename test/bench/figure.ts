/** Prints one row of the table of all benchmarks, which `npm run bench -- all` collects. */
export function figure(what: string, measured: string, bar = ""): void {
  console.log(`= ${what} | ${measured} | ${bar}`);
}
