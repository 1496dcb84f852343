import process from "node:process";

/** What shells add to a signal's number. */
const signalled = 128;
const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** A signal that asks the program to end. */
export type EndingSignal = keyof typeof numbers;

/** The exit code of a program that a signal ended. */
export function signalExit(signal: EndingSignal): number {
  return signalled + numbers[signal];
}

/** Does one last thing, at once, where a signal ends the program, until the function that it answers is called. */
export function onEndingSignal(last: () => void): () => void {
  const listeners = (Object.keys(numbers) as EndingSignal[]).map(signal => {
    const listener = (): void => {
      last();
      process.exit(signalExit(signal));
    };
    process.once(signal, listener);
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
