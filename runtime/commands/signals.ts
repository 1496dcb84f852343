import process from "node:process";

/** Added by shells to the number of a signal. */
const signalled = 128;
const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** A signal that ends the program. */
export type EndingSignal = keyof typeof numbers;

/** Returns the exit code of a program that a signal ended. */
export function signalExit(signal: EndingSignal): number {
  return signalled + numbers[signal];
}

/** Runs a function when a signal ends the program. Returns the function that removes it. */
export function onEndingSignal(cleanUp: () => void): () => void {
  const listeners = (Object.keys(numbers) as EndingSignal[]).map(signal => {
    const listener = (): void => {
      cleanUp();
      process.exit(signalExit(signal));
    };
    process.once(signal, listener);
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
