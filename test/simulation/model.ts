/** What must hold: the model of users, and the comparison of what is stored with it. */

import type { Tenant } from "./tenants.ts";
import { gains, prices, visitsCounted } from "./tenants.ts";

/** Reasons of transactions that time alone causes. */
const passiveReasons: ReadonlySet<string> = new Set(["lotsExpired"]);

/** What became of an operation, as its client knows it. */
export type Outcome = "open" | "applied" | "refused";

/** An operation that takes effect at most once, under its id. */
export interface Operation {
  readonly kind: "action" | "reward" | "redemption";
  /** Name of the action or product; the currency of a reward. */
  readonly name: string;
  readonly amount: number;
  outcome: Outcome;
  /** Answer of the first success. */
  answer?: string;
  /** The element that an action votes for. */
  readonly elementId?: string;
  /** Id of the redemption, where it is known. */
  redemptionId?: string;
}

/** Whether votes for an element are taken: at all processes, at some of them, or no more. */
export type PollState = "changing" | "open" | "closed";

/** Somebody whose users go into one. */
export interface Person {
  /** The address or account by which the person signs in. */
  readonly name: string;
  /** The user that the person signs in as, once an answer has said so. */
  userId: string | null;
  /** Users that were merged for certain. */
  readonly merged: Set<string>;
}

/** A person who logs in by codes to an address. */
export interface Addressee extends Person {
  /** Codes that logged the person in. */
  readonly spent: Set<string>;
  /** False once a code may be on its way late, or a login may have ended unseen. */
  isClear: boolean;
}

/** A person who signs in at an OpenID provider. */
export interface Visitor extends Person {
  /** Keys of logins that the app has sent, and of those that let the person in. */
  readonly sent: Set<string>;
  readonly ended: Set<string>;
}

/** A user of a tenant. */
export class UserModel {
  readonly userId: string;
  readonly operations: Map<string, Operation> = new Map();
  /** Scores that back ends added to the board of direct scores: sum of those acknowledged, and the values of open ones. */
  displayName: string | null = null;
  /** Names that may have been given last, while the outcome is open. */
  readonly openNames: Set<string> = new Set();
  isDeleted = false;
  /** True while it is not known if the user was deleted. */
  isLeaving = false;
  /** The person whom all users are that were or may be merged; undefined for a user who is nobody else. */
  person: Person | undefined = undefined;

  constructor(userId: string) {
    this.userId = userId;
  }

  /** Begins an operation, or returns it where it was begun before. */
  begin(id: string, operation: Omit<Operation, "outcome">): Operation {
    const known = this.operations.get(id);
    if (known !== undefined) return known;
    const begun: Operation = { ...operation, outcome: "open" };
    this.operations.set(id, begun);
    return begun;
  }
}

/** The state of a tenant as its clients know it. */
export class TenantModel {
  readonly tenant: Tenant;
  readonly users: Map<string, UserModel> = new Map();
  /** Ids that the platform drew for this tenant. */
  readonly ownIds: Set<string> = new Set();
  /** Codes that were put into the pool. */
  readonly codes: Set<string> = new Set();
  /** Codes that were handed out, with the redemption. */
  readonly given: Map<string, string> = new Map();
  readonly scarves: Set<string> = new Set();
  /** Elements that fans vote for, once each. */
  readonly polls: Map<string, PollState> = new Map();
  /** Exports by their ids, with users who existed when they were requested. */
  readonly exports: Map<string, readonly string[]> = new Map();
  /** Boards whose rebuild has not ended well, once for each. */
  readonly rebuilds: Set<{ readonly leaderboardId: string }> = new Set();
  /** Those whose users go into one. */
  readonly people: Person[] = [];
  /** The one of them who logs in by codes. */
  addressee: Addressee | null = null;
  /** The one who signs in at the provider. */
  visitor: Visitor | null = null;
  /** Token of the app, with which users log in by code. */
  clientToken = "";
  /** Header fields of a back end that may do anything. */
  credentials: Readonly<Record<string, string>> = {};

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  /** Returns the user of an id, new or not. */
  user(userId: string): UserModel {
    const user = this.users.get(userId) ?? new UserModel(userId);
    this.users.set(userId, user);
    return user;
  }
}

/** A transaction as `GET /api/audience/transactions` lists it. */
export interface Transaction {
  readonly transactionId: string;
  readonly type: "credit" | "debit";
  readonly currency: string;
  readonly amount: number;
  readonly balanceAfter: number;
  readonly reason: string;
  readonly source: { readonly type: string; readonly id: string | null };
  readonly actionId: string | null;
}

/** Everything that the platform shows of a user. */
export interface ShownUser {
  /** Newest first. */
  readonly transactions: readonly Transaction[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly displayName: string | null;
  /** Score by board; undefined where the user is not on it. */
  readonly scores: Readonly<Record<string, number | undefined>>;
}

/** Returns what is wrong with what is shown of a user. */
export function faultsOf(user: UserModel, shown: ShownUser): readonly string[] {
  const { transactions, metrics, scores } = shown;
  const faults: string[] = [];
  const expect = (found: unknown, expected: unknown, text: string): void => {
    if (found !== expected) faults.push(`${text}: ${found} in place of ${expected}`);
  };
  const sums: Record<string, number> = {};
  for (const { type, amount, currency } of transactions) {
    sums[currency] = (sums[currency] ?? 0) + (type === "credit" ? amount : -amount);
  }
  expect(metrics.points ?? 0, sums.points ?? 0, "points differ from the sum of transactions");
  expect(metrics.energy ?? 0, sums.energy ?? 0, "energy differs from the sum of transactions");
  expect(scores.overall ?? 0, metrics.points ?? 0, "the board differs from the points");
  if ((metrics.points ?? 0) < 0) faults.push(`points are ${metrics.points}`);
  faults.push(...operationFaults(user, transactions));
  const cheers = transactions.filter(
    ({ reason, source }) => reason === "actionRewarded" && source.id === "cheer",
  );
  expect(scores.cheers ?? 0, cheers.length, "the board of cheers differs from the cheers");
  const names = [user.displayName, ...user.openNames];
  if (!names.includes(shown.displayName))
    faults.push(`is named ${shown.displayName} in place of ${names.join(" or ")}`);
  return faults;
}

/** True for what a user who goes into another loses, and for what the other gets. */
function isTransfer({ reason, source }: Transaction): boolean {
  return reason === "adjusted" || (reason === "rewardGranted" && source.id === null);
}

/** Returns what is wrong with what is shown of all users of a person: together they have what one user would. */
export function faultsOfPerson(users: readonly UserModel[], shown: readonly ShownUser[]): readonly string[] {
  const whole = new UserModel("");
  for (const { operations } of users)
    for (const [id, operation] of operations) whole.operations.set(id, operation);
  const transactions = shown.flatMap(one => one.transactions).filter(one => !isTransfer(one));
  const sum = (of: (one: ShownUser) => number | undefined): number =>
    shown.reduce((total, one) => total + (of(one) ?? 0), 0);
  return faultsOf(whole, {
    transactions,
    metrics: { points: sum(one => one.metrics.points), energy: sum(one => one.metrics.energy) },
    displayName: null,
    scores: { overall: sum(one => one.scores.overall), cheers: sum(one => one.scores.cheers) },
  });
}

/** Compares every operation with the transactions that it left. */
function operationFaults(user: UserModel, transactions: readonly Transaction[]): readonly string[] {
  const faults: string[] = [];
  const left = new Set(transactions.filter(({ reason }) => !passiveReasons.has(reason)));
  const rejected = new Set(
    transactions.filter(({ reason }) => reason === "redemptionRejected").map(({ source }) => source.id),
  );
  const unnamed = { open: 0, refused: 0 };
  let visits = 0;
  const votes = new Map<string, number>();
  for (const [id, operation] of user.operations) {
    const { kind, name, outcome, amount, redemptionId } = operation;
    if (kind === "redemption" && redemptionId === undefined) {
      unnamed[outcome === "open" ? "open" : "refused"] += 1;
      continue;
    }
    const found = transactions.filter(transaction => isOf(transaction, id, operation));
    for (const transaction of found) left.delete(transaction);
    const { elementId } = operation;
    if (elementId !== undefined) votes.set(elementId, (votes.get(elementId) ?? 0) + found.length);
    const isLimited = kind === "action" && name === "visit";
    if (isLimited) visits += found.length;
    const least = outcome === "applied" && !isLimited ? 1 : 0;
    if (
      found.length < least ||
      found.length > 1 ||
      (redemptionId !== undefined && rejected.has(redemptionId))
    ) {
      faults.push(`${kind} ${name} ${id} (${outcome}) has taken effect ${found.length} times`);
    }
    for (const transaction of found) {
      if (transaction.amount !== amount)
        faults.push(`${kind} ${id} changed ${transaction.amount} for ${amount}`);
    }
  }
  for (const [elementId, count] of votes) {
    if (count > 1) faults.push(`${count} votes for ${elementId} were counted, at most one is allowed`);
  }
  const applied = [...user.operations.values()].filter(
    ({ kind, name, outcome }) => kind === "action" && name === "visit" && outcome === "applied",
  );
  if (visits > visitsCounted || visits < Math.min(visitsCounted, applied.length)) {
    faults.push(`${visits} visits were rewarded of ${applied.length}, at most ${visitsCounted}`);
  }
  for (const { reason, amount, source } of left) {
    const isRejected = rejected.has(source.id);
    if (reason === "redemptionRejected") continue;
    if (reason === "redeemed" && isRejected && unnamed.refused > 0) unnamed.refused -= 1;
    else if (reason === "redeemed" && unnamed.open > 0) unnamed.open -= 1;
    else faults.push(`nobody has caused a transaction ${reason} of ${amount}, ${source.id}`);
  }
  return faults;
}

function isOf(
  { actionId, source, reason }: Transaction,
  id: string,
  { kind, redemptionId }: Operation,
): boolean {
  if (kind === "action") return actionId === id;
  if (kind === "reward") return source.type === "reward" && source.id === id;
  return reason === "redeemed" && source.id === redemptionId;
}

/** Amount of the transaction of an action or redemption. */
export function amountOf(kind: "action" | "redemption", name: string): number {
  if (kind === "redemption") return prices[name] ?? 0;
  return gains[name]?.points ?? gains[name]?.energy ?? 0;
}
