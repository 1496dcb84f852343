/** Long work in slices, so that requests are answered meanwhile. */

/** Longest time that work holds the event loop, in ms. */
const sliceMsMax = 5;

/**
 * Creates the pauses of one piece of work: each yields to other work once the current slice is long enough. `nextTurn` resolves
 * after other work that is ready has run.
 */
export function createPause(nextTurn: () => Promise<void> = timerTurn): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < sliceMsMax) return undefined;
    return nextTurn().then(() => {
      began = performance.now();
    });
  };
}

function timerTurn(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 0));
}
