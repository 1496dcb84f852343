/** Long work in slices, so that requests are answered in between. */

/** Longest time that work goes on without letting others have their turn, in ms. */
export const sliceMsMax = 5;

/** Resolves after everything else that waits has had its turn. */
export type NextTurn = () => Promise<void>;

/** Lets others have their turn where the work has gone on for long enough. */
export type Pause = () => Promise<void> | undefined;

/** Creates the pauses of one piece of work. */
export function createPause(nextTurn: NextTurn = timerTurn): Pause {
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
