/** Users to search for, and a way to say who fits that shares nothing with the product. */

import assert from "node:assert/strict";
import type { Seed } from "../../../lib/fans/directory/mod.ts";
import { type Answer, ids, seed, type TestPlatform } from "../../support/platform.ts";
import type { BackEndCall } from "./_back_end.ts";

/** Path of the search. */
export const searchPath = "/v1/api/audience/internal/users/search";

const hourMs = 3_600_000;

/** The common seed with an index of points. */
export const indexedSeed: Seed = {
  ...seed,
  organisations: (seed.organisations ?? []).map(organisation => {
    if (organisation.id !== ids.organisation) return organisation;
    const audience = { ...(organisation.settings?.audience as object), indexes: ["metrics.points"] };
    return { ...organisation, settings: { audience } };
  }),
};

/** The data of a user, from clients and back ends. */
export interface Known {
  readonly userId: string;
  readonly displayName: string | null;
  readonly shirt: string | null;
  readonly goals: number | null;
  readonly member: boolean | null;
  readonly points: number;
  readonly energy: number;
  readonly badges: readonly string[];
  /** Unix ms. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/** A user with nothing but an id. */
export function plain(userId: string, at: number): Known {
  return {
    userId,
    displayName: null,
    shirt: null,
    goals: null,
    member: null,
    points: 0,
    energy: 5,
    badges: [],
    createdAt: at,
    lastActiveAt: at,
  };
}

/** Makes users by the bulk routes of back ends, and lets what follows arrive. */
export async function makeUsers(
  world: TestPlatform,
  crm: BackEndCall,
  users: readonly Known[],
): Promise<void> {
  const updates = users.map(({ userId, displayName, shirt, goals, member, points, energy }) => ({
    userId,
    ...(displayName === null ? {} : { displayName }),
    customFields: { shirt, goals, member },
    metrics: { points: { op: "set", value: points }, energy: { op: "set", value: energy } },
  }));
  const made = await crm("/v1/api/audience/internal/profiles/update-batch", { body: { updates } });
  assert.equal(made.json.data.summary.failed, 0, made.text);
  const rewards = users
    .filter(({ badges }) => badges.length > 0)
    .map(({ userId }) => ({
      userId,
      type: "inventory",
      inventorySetId: "badges",
      inventoryItemId: "oracle",
      reason: "Test",
    }));
  if (rewards.length > 0) {
    const given = await crm("/v1/api/audience/internal/rewards/bulk", { body: { rewards } });
    assert.equal(given.json.data.summary.failed, 0, given.text);
  }
  await world.platform.idle();
}

/** Builds the declared index of points. */
export async function buildPoints(world: TestPlatform): Promise<void> {
  await world.platform.users.buildIndex({ organisationId: ids.organisation, metricId: "points" });
}

/** Walks a search to its end, and answers its pages. */
export async function pagesOf(
  crm: BackEndCall,
  body: Readonly<Record<string, unknown>>,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<readonly Answer["json"][]> {
  const pages: Answer["json"][] = [];
  for (let key: string | undefined; ; ) {
    const asked = key === undefined ? body : { ...body, lastEvaluatedKey: key };
    const { status, json, text } = await crm(searchPath, { body: asked });
    assert.equal(status, 200, text);
    pages.push(json);
    if (json.lastEvaluatedKey === null) return pages;
    key = json.lastEvaluatedKey;
    assert.ok(pages.length < 2_000, "a search must end");
    await between(pages.length);
  }
}

/** The ids that a search finds, in its order. */
export async function foundIds(
  crm: BackEndCall,
  body: Readonly<Record<string, unknown>>,
  between?: (page: number) => Promise<unknown>,
): Promise<readonly string[]> {
  const pages = await pagesOf(crm, body, between);
  return pages.flatMap(({ data }) => data).map(({ userId }) => userId);
}

type Json = Readonly<Record<string, unknown>>;

/** Reads a variable off what is known; undefined: no value. */
function valueIn(user: Known, operand: unknown): unknown {
  if (typeof operand !== "object" || operand === null) return operand;
  const path = String((operand as Json).var);
  const values: Json = {
    userId: user.userId,
    displayName: user.displayName,
    createdAt: user.createdAt,
    lastActiveAt: user.lastActiveAt,
    "customFields.shirt": user.shirt,
    "customFields.goals": user.goals,
    "customFields.member": user.member,
    "metrics.points": user.points,
    "metrics.energy": user.energy,
    "inventory.badges": user.badges,
  };
  return values[path] ?? undefined;
}

/** Says naively whether a user fits a condition whose times are ISO texts. */
export function fitsNaively(user: Known, condition: Json): boolean {
  const [operator = "", argument] = Object.entries(condition)[0] ?? [];
  if (operator === "not") return !fitsNaively(user, argument as Json);
  const parts = argument as readonly Json[];
  if (operator === "all") return parts.every(part => fitsNaively(user, part));
  if (operator === "any") return parts.some(part => fitsNaively(user, part));
  if (operator === "exists") return valueIn(user, argument) !== undefined;
  const [first, ...others] = argument as readonly unknown[];
  const value = valueIn(user, first);
  const isTime = JSON.stringify(first).includes("At");
  const rest = others.map(other => comparable(other, isTime));
  if (operator === "ne") return value !== rest[0];
  if (value === undefined) return false;
  const [other, last] = rest;
  switch (operator) {
    case "eq":
      return value === other;
    case "gt":
      return (value as number) > (other as number);
    case "gte":
      return (value as number) >= (other as number);
    case "lt":
      return (value as number) < (other as number);
    case "lte":
      return (value as number) <= (other as number);
    case "between":
      return (value as number) >= (other as number) && (value as number) <= (last as number);
    case "in":
      return (other as readonly unknown[]).includes(value);
    case "contains":
      return (value as string).includes(other as string);
    case "startsWith":
      return (value as string).startsWith(other as string);
    default:
      throw new Error(`Nobody taught the test ${operator}`);
  }
}

function comparable(operand: unknown, isTime: boolean): unknown {
  return isTime && typeof operand === "string" ? new Date(operand).getTime() : operand;
}

/** Draws conditions and users. */
export class Drawing {
  readonly #random: () => number;

  constructor(seedNumber: number) {
    let state = seedNumber;
    // Mulberry32, so that a failure can be repeated.
    this.#random = () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    };
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  user(userId: string, at: number): Known {
    return {
      ...plain(userId, at),
      displayName: this.of([null, "Zoë", "Sam", "Sámuel", "李雷", "😀 fan", "sam"]),
      shirt: this.of([null, "S", "M", "L"]),
      goals: this.of([null, 0, 1, -2, 2.5]),
      member: this.of([null, true, false]),
      points: this.of([0, 0, 1, 10, 99, 100, 1_000]),
      energy: this.below(8),
      badges: this.below(3) === 0 ? ["oracle"] : [],
    };
  }

  /** A condition over users who came in the hours from `start`. */
  condition(start: number, depth = 0): Json {
    const deeper = (): Json => this.condition(start, depth + 1);
    if (depth < 3 && this.below(3) > 0) {
      const operator = this.of(["all", "any", "not", "all"]);
      if (operator === "not") return { not: deeper() };
      return { [operator]: Array.from({ length: 1 + this.below(3) }, deeper) };
    }
    const operator = this.of(["eq", "ne", "gt", "gte", "lt", "lte"]);
    const time = new Date(start + this.below(5) * hourMs).toISOString();
    return this.of<Json>([
      { [operator]: [{ var: "metrics.points" }, this.of([0, 1, 50, 100, 1_000])] },
      { [operator]: [{ var: "metrics.energy" }, this.below(8)] },
      { [operator]: [{ var: "customFields.goals" }, this.of([0, 1, -2, 2.5])] },
      { [operator]: [{ var: this.of(["createdAt", "lastActiveAt"]) }, time] },
      { between: [{ var: "metrics.points" }, this.of([-1, 1, 100]), this.of([1, 100, 5_000])] },
      { in: [{ var: "customFields.shirt" }, this.of([["S"], ["M", "L"]])] },
      { eq: [{ var: "customFields.member" }, this.of([true, false])] },
      { contains: [{ var: "displayName" }, this.of(["am", "á", "😀", "李"])] },
      { startsWith: [{ var: "displayName" }, this.of(["S", "Z", "李"])] },
      { contains: [{ var: "inventory.badges" }, this.of(["oracle", "none"])] },
      { exists: { var: this.of(["displayName", "customFields.goals", "metrics.points"]) } },
      { in: [{ var: "userId" }, [`u${this.below(40)}`, `u${this.below(40)}`]] },
    ]);
  }
}
