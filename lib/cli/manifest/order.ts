/**
 * The order of a plan's steps: what others name is made before them. Where entities name each other, the attributes that name
 * what does not exist yet are written afterwards.
 *
 * @module
 */

import { pathOfToken, pathsIn } from "../elements/references.ts";
import type { Step } from "./plan.ts";

/** A step at its turn. */
export interface Turn {
  readonly step: Step;
  /** Names of the attributes that are written when all entities exist. */
  readonly late: readonly string[];
}

/** Orders the steps that change something. */
export function ordered(steps: readonly Step[]): readonly Turn[] {
  const added = new Map(steps.filter(({ action }) => action === "add").map(step => [step.wanted.path, step]));
  const states = new Map<Step, "open" | "done">();
  const turns: Turn[] = [];

  /** The new entities without which a step is impossible. */
  const needs = ({ wanted: { parent, app }, wrapper = null }: Step): readonly Step[] =>
    [parent?.path, pathOfToken(app), pathOfToken(wrapper)].flatMap(path => added.get(path ?? "") ?? []);
  const isOpen = (step: Step): boolean => states.get(step) === "open" || needs(step).some(isOpen);

  function visit(step: Step): void {
    if (states.has(step)) return;
    states.set(step, "open");
    needs(step).forEach(visit);
    const late = Object.entries(step.attributes).filter(([, value]) => {
      const targets = pathsIn(value).flatMap(path => added.get(path) ?? []);
      return (
        targets.filter(target => {
          if (isOpen(target)) return true;
          visit(target);
          return false;
        }).length > 0
      );
    });
    states.set(step, "done");
    const names = late.map(([name]) => name);
    // The clock publishes elements that are complete.
    const schedule = step.wanted.kind === "element" && names.length > 0 ? ["start_mode", "start_offset"] : [];
    turns.push({ step, late: [...names, ...schedule.filter(name => name in step.attributes)] });
  }

  for (const step of steps) if (step.action !== "noop") visit(step);
  return turns;
}
