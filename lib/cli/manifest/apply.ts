/**
 * Carries out plans. What belongs to one project is written in batches of which all or nothing takes effect; a run that ends in
 * between is finished by the next one, which finds what exists by its annotations.
 */

import { Batches, type Change } from "../../authoring/table/element_batches.ts";
import { pathOfToken, pathsIn, tokenOf } from "../../authoring/table/references.ts";
import { located } from "../elements/batches.ts";
import type { CliContext } from "../frame/command.ts";
import type { ControlApi, Operation } from "../frame/control_api.ts";
import { CliError } from "../frame/errors.ts";
import { documentOf, pathOf, type ResourceObject, type Target } from "../frame/resources.ts";
import type { Plan, Step } from "./plan.ts";
import { types, type Wanted } from "./read.ts";
import { appliedAnnotation } from "./remote.ts";

/** Returns what a plan changes, for the allow-list: projects and events, and the space where they are new. */
export function targetsOf({ space, steps, remote }: Plan): readonly Target[] {
  const targets = steps
    .filter(({ action }) => action !== "noop")
    .map(({ wanted }) => targetOf(wanted, space, remote));
  return [...new Map(targets.map(target => [target.id, target])).values()];
}

function targetOf(wanted: Wanted, space: string, remote: Plan["remote"]): Target {
  const { kind, path, parent } = wanted;
  const id = remote.found.get(path)?.id;
  if (id !== undefined && (kind === "project" || kind === "event")) return { kind, id };
  return parent === null ? { kind: "space", id: space } : targetOf(parent, space, remote);
}

export interface Applied {
  /** Ids of all entities by their paths; null for those that do not exist. */
  readonly ids: ReadonlyMap<string, string | null>;
  /** Paths of the entities that could not be tried, as others do not exist yet. */
  readonly untried: ReadonlySet<string>;
}

/**
 * Carries out a plan, or asks the server whether it could.
 *
 * @throws {CliError} The server refused: the batches before took effect.
 */
export async function applyPlan(
  plan: Plan,
  api: ControlApi,
  context: CliContext,
  isDryRun: boolean,
): Promise<Applied> {
  const run = new Run(plan, api, context, isDryRun);
  const turns = ordered(plan.steps);
  for (const { step } of turns) if (step.wanted.kind === "app") await run.addApp(step);
  for (const project of plan.manifest.wanted) {
    const own = turns.filter(({ step }) => rootOf(step.wanted) === project);
    if (project.kind === "project" && own.length > 0) await run.project(project, own);
  }
  return run;
}

function rootOf(wanted: Wanted): Wanted {
  return wanted.parent === null ? wanted : rootOf(wanted.parent);
}

class Run implements Applied {
  readonly ids: Map<string, string | null>;
  readonly untried = new Set<string>();
  readonly #plan: Plan;
  readonly #api: ControlApi;
  readonly #context: CliContext;
  readonly #isDryRun: boolean;
  readonly #guarded = new Set<string>();
  readonly #batches: Batches<Wanted>;

  constructor(plan: Plan, api: ControlApi, context: CliContext, isDryRun: boolean) {
    this.#plan = plan;
    this.#api = api;
    this.#context = context;
    this.#isDryRun = isDryRun;
    this.ids = new Map(
      plan.manifest.wanted.map(({ path }) => [path, plan.remote.found.get(path)?.id ?? null]),
    );
    this.#batches = new Batches(this.ids, (operations, batch) => this.#send(operations, batch));
  }

  async addApp({ wanted, attributes }: Step): Promise<void> {
    const within = { kind: "space", id: this.#plan.space } as const;
    const document = documentOf("apps", attributes, {
      related: { space: { type: "spaces", id: within.id } },
    });
    const isDryRun = this.#isDryRun;
    const { data } = await this.#api.write("POST", "/apps", { within, document, isDryRun });
    this.ids.set(wanted.path, isDryRun ? null : data.id);
    if (!isDryRun) this.#context.done(`added the app ${wanted.path}`);
  }

  async project(project: Wanted, turns: readonly Turn[]): Promise<void> {
    const own = turns.find(({ step }) => step.wanted === project)?.step;
    const isMoved = own?.action === "update" && own.fields.includes("app");
    if (isMoved && !(await this.#move(own))) {
      for (const { step } of turns) this.untried.add(step.wanted.path);
      return;
    }
    for (const turn of turns) await this.#take(turn, isMoved);
    for (const { step, late } of turns) {
      const written = Object.entries(step.attributes).filter(([name]) => late.includes(name));
      const attributes = { ...Object.fromEntries(written), ...annotationsOf(step, "late") };
      const action = isWrapper(step) ? {} : actionOf(step);
      if (late.length > 0)
        await this.#push(step.wanted, { op: "update", attributes: { ...attributes, ...action } });
    }
    for (const { step } of turns)
      if (isWrapper(step) && step.publishes)
        await this.#push(step.wanted, { op: "update", attributes: actionOf(step) });
    await this.#batches.flush();
    if (own !== undefined && (own.action === "add" || isMoved)) await this.#hideTypes(own);
  }

  /** Moves a project to its app. False: this is a trial, in which nothing can be tried with the new app. */
  async #move({ wanted, remote }: Step): Promise<boolean> {
    const appPath = pathOfToken(wanted.app);
    const app = appPath === null ? wanted.app : this.ids.get(appPath);
    const isDryRun = this.#isDryRun;
    if (remote === null || app == null) return false;
    const within = { kind: "project", id: remote.id } as const;
    const document = { data: { type: "apps", id: app } };
    const path = pathOf(within, "relationships", "app");
    await this.#api.write("PATCH", path, { within, document, ifMatch: etagOf(remote), isDryRun });
    if (!isDryRun) this.#context.done(`moved ${wanted.path} to its app`);
    return !isDryRun;
  }

  async #hideTypes({ wanted: { path, pointer, enabledTypes } }: Step): Promise<void> {
    const id = this.ids.get(path) ?? null;
    if (id === null || enabledTypes === null) return;
    const within = { kind: "project", id } as const;
    const { data } = await this.#api.get<readonly ResourceObject[]>(pathOf(within, "content_types"));
    const known = data.map(({ id: type }) => type);
    const strange = enabledTypes.filter(type => !known.includes(type));
    if (strange.length > 0) {
      const detail = `The app has no ${strange.join(", ")}`;
      throw this.#plan.manifest.refusal([{ pointer: `${pointer}/enabled_types`, detail }]);
    }
    const hidden_elements = known.filter(type => !enabledTypes.includes(type));
    await this.#api.change(within, { hidden_elements });
    this.#context.done(`hid ${hidden_elements.length} content types of ${path}`);
  }

  async #take({ step, late }: Turn, isMoved: boolean): Promise<void> {
    const { wanted, remote, wrapper } = step;
    const isWhole = late.length === 0;
    const early = Object.entries(step.attributes).filter(([name]) => !late.includes(name));
    const attributes = {
      ...Object.fromEntries(early),
      ...(isWhole ? {} : annotationsOf(step, "early")),
      ...(isWhole && !isWrapper(step) ? actionOf(step) : {}),
    };
    await this.#guard(wanted.kind === "event" ? wanted : remote === null ? wanted.parent : null);
    if (remote === null) {
      const owner = { project: "space", event: "project", element: "event", app: "space" }[wanted.kind];
      const related = {
        [owner]: wanted.parent === null ? this.#plan.space : tokenOf(wanted.parent.path),
        ...(wanted.app === null ? {} : { app: wanted.app }),
        ...(typeof wrapper === "string" ? { parent: wrapper } : {}),
      };
      return await this.#push(wanted, { op: "add", attributes, related });
    }
    // The guard of an event covers it, and the move of a project has given it another tag.
    const isGuarded = wanted.kind === "event" || (wanted.kind === "project" && isMoved);
    const related = step.fields.includes("parent") ? { parent: wrapper ?? null } : {};
    const ifMatch = isGuarded ? {} : { ifMatch: etagOf(remote) };
    await this.#push(wanted, { op: "update", attributes, related, ...ifMatch });
  }

  /** Makes the batch fail if an event has changed since the plan, or has got other elements. */
  async #guard(event: Wanted | null): Promise<void> {
    const remote = event?.kind === "event" ? this.#plan.remote.found.get(event.path) : undefined;
    if (event === null || remote === undefined || this.#guarded.has(event.path)) return;
    this.#guarded.add(event.path);
    await this.#push(event, { op: "update", attributes: {}, ifMatch: etagOf(remote) });
  }

  async #push(wanted: Wanted, change: Omit<Change, "id" | "type">): Promise<void> {
    const own = { type: types[wanted.kind], id: tokenOf(wanted.path) };
    const isTried = await this.#batches.push({ ...own, ...change }, wanted);
    if (!isTried) this.untried.add(wanted.path);
  }

  async #send(operations: readonly Operation[], batch: readonly Wanted[]): Promise<readonly string[]> {
    const [first] = batch;
    if (first === undefined) return [];
    const isDryRun = this.#isDryRun;
    // The allow-list was asked about all that the plan changes.
    const within = targetOf(first, this.#plan.space, this.#plan.remote);
    this.#context.progress(`writing ${batch.length} changes of ${rootOf(first).path}`);
    const left = await this.#api.operations(operations, { within, isDryRun }).catch((error: unknown) => {
      throw explained(located(error, (index, pointer) => `${batch[index]?.path} ${pointer}`));
    });
    if (isDryRun) return [];
    this.#context.done(`wrote ${batch.length} changes of ${rootOf(first).path}`);
    return left.map(({ id }) => id);
  }
}

/** A wrapper is published after its children. */
function isWrapper({ wanted, remote }: Step): boolean {
  const children = remote?.relationships?.children?.data ?? [];
  return wanted.children !== null || (Array.isArray(children) && children.length > 0);
}

/** Splits annotations where a step is made in two: the mark comes first, digests and what names others afterwards. */
function annotationsOf({ attributes }: Step, part: "early" | "late"): Step["attributes"] {
  const all = Object.entries((attributes.annotations ?? {}) as Step["attributes"]);
  const isLate = ([name, value]: readonly [string, unknown]): boolean =>
    name === appliedAnnotation || pathsIn(value).length > 0;
  return { annotations: Object.fromEntries(all.filter(entry => isLate(entry) === (part === "late"))) };
}

function actionOf({ publishes }: Step): Step["attributes"] {
  return publishes ? { action: "publish" } : {};
}

function etagOf({ meta }: ResourceObject): string {
  return String(meta?.etag);
}

function explained(error: unknown): unknown {
  if (!(error instanceof CliError) || error.options.status !== 412) return error;
  const next = { hint: "Look at the new plan, then apply again", next: "grandstand plan" };
  return new CliError(error.exit, "Somebody has changed what the plan is about", {
    ...error.options,
    ...next,
  });
}

interface Turn {
  readonly step: Step;
  readonly late: readonly string[];
}

function ordered(steps: readonly Step[]): readonly Turn[] {
  const added = new Map(steps.filter(({ action }) => action === "add").map(step => [step.wanted.path, step]));
  const states = new Map<Step, "open" | "done">();
  const turns: Turn[] = [];

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
