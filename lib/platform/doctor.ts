/**
 * The doctor: checks of what is stored, each with a verdict, and with a repair where there is one. Add a check to the list
 * below.
 */

import { systemRandom } from "../auth/crypto/mod.ts";
import type { Clock, MasterSecret } from "../auth/mod.ts";
import { checkMasterSecret } from "../auth/tokens/key_ring.ts";
import { AppError } from "../base/errors/mod.ts";
import { createDirectory } from "../fans/directory/directory.ts";
import type { Directory, Project } from "../fans/directory/mod.ts";
import { findUnlisted } from "../fans/directory/seed.ts";
import { findLostKeys } from "../fans/identity/lost_keys.ts";
import { Users } from "../fans/identity/mod.ts";
import { type ComparedBoard, comparedBoards, type Difference } from "../fans/leaderboards/scores/rebuild.ts";
import { readRecordedScore } from "../fans/loyalty/board_sums.ts";
import type { PartitionLister, Store } from "../storage/mod.ts";
import { tenantPartitions } from "../storage/names.ts";

/** Dependencies of a check. */
export interface DoctorOptions {
  readonly store: Store & PartitionLister;
  /** Unix ms. */
  readonly clock: Clock;
  /** The master secret of the servers. @default lookup keys are not examined */
  readonly secret?: MasterSecret | undefined;
  /** True to repair what is found. */
  readonly repairs: boolean;
}

/** The verdict of a check. */
export interface DoctorVerdict {
  readonly check: string;
  /** `found`: something is wrong and was not repaired, or cannot be. */
  readonly status: "ok" | "found" | "repaired";
  /** Number of things examined. */
  readonly examined: number;
  /** Number of those with faults. */
  readonly found: number;
  readonly repaired: number;
  /** Some of the faults, for people. */
  readonly examples: readonly string[];
  /** What to do about faults that are left. */
  readonly advice: string;
}

interface DoctorCheck {
  readonly name: string;
  /** What to do about faults that are left. @default to repair them */
  readonly advice?: string;
  readonly run: (options: DoctorOptions, report: Report) => Promise<void>;
}

/** Every check, in the order in which they run. */
const checks: readonly DoctorCheck[] = [
  { name: "directory", run: checkDirectory },
  { name: "lookup-keys", run: checkLookupKeys },
  { name: "boards", run: checkBoards, advice: "Run the commands that the examples name" },
];

const examplesMax = 20;

/**
 * Runs every check. Servers may run meanwhile, and it may be repeated.
 *
 * @throws {AppError} `storage_unavailable`: the store does not answer, or the clock of this process cannot be the measure.
 */
export async function runDoctor(options: DoctorOptions): Promise<readonly DoctorVerdict[]> {
  await options.store.ping();
  const verdicts: DoctorVerdict[] = [];
  for (const { name, run, advice = "Run it with --repair" } of checks) {
    const report = new Report();
    await run(options, report);
    verdicts.push(report.verdict(name, advice));
  }
  return verdicts;
}

class Report {
  #examined = 0;
  #found = 0;
  #repaired = 0;
  readonly #examples: string[] = [];

  /** Takes the outcome of one thing; `fault` is null where nothing is wrong. */
  add(fault: string | null, isRepaired = false): void {
    this.#examined += 1;
    if (fault === null) return;
    this.#found += 1;
    if (isRepaired) this.#repaired += 1;
    if (this.#examples.length < examplesMax) this.#examples.push(fault);
  }

  verdict(check: string, advice: string): DoctorVerdict {
    const [examined, found, repaired] = [this.#examined, this.#found, this.#repaired];
    const status = found === 0 ? "ok" : found === repaired ? "repaired" : "found";
    return { check, status, examined, found, repaired, examples: this.#examples, advice };
  }
}

/** Finds records of the directory that the control API does not find, as after lost writes or a seed that was interrupted. */
async function checkDirectory({ store, clock, repairs }: DoctorOptions, report: Report): Promise<void> {
  for await (const group of findUnlisted(store, clock() / 1_000)) {
    for (const found of group) {
      if (repairs) await found?.repair();
      report.add(found === null ? null : `${found.name} is in no list`, repairs);
    }
  }
}

/** @throws {unknown} The error of a store that does not answer. */
function nullUnlessUnreachable(error: unknown): null {
  if (error instanceof AppError) throw error;
  return null;
}

/** @throws {Error} The store was sealed under another master secret. */
async function usersUnder(secret: MasterSecret, { store, clock }: DoctorOptions): Promise<Users> {
  await checkMasterSecret({ store, secret, clock, random: systemRandom });
  return new Users(store, secret);
}

/** Finds users whom their lookup keys do not find, as after lost writes. Only the secret of the servers names the keys. */
async function checkLookupKeys(options: DoctorOptions, report: Report): Promise<void> {
  const { store, repairs, secret } = options;
  const users = secret === undefined ? null : await usersUnder(secret, options).catch(nullUnlessUnreachable);
  if (users === null) return;
  for await (const group of findLostKeys(store, users)) {
    for (const lost of group) report.add(lost?.name ?? null, repairs && (await lost?.repair()));
  }
}

/** Time after which a score that differs is looked at again, in ms: boards follow actions. */
const deliveryMs = 1_000;

async function checkBoards({ store, clock }: DoctorOptions, report: Report): Promise<void> {
  const directory = createDirectory({ store, clock });
  const services = { store, directory, clock, readRecordedScore };
  const suspects: { readonly board: ComparedBoard; readonly found: readonly Difference[] }[] = [];
  for await (const project of listedProjects(store, directory)) {
    for await (const board of comparedBoards(services, project)) {
      const found = await board.differences();
      if (found.length === 0) report.add(null);
      else suspects.push({ board, found });
    }
  }
  if (suspects.length > 0) await new Promise(resolve => setTimeout(resolve, deliveryMs));
  for (const { board, found } of suspects) {
    const again = await board.differences();
    const left = found.filter(one => again.some(other => isSameDifference(one, other)));
    const [first] = left;
    report.add(first === undefined ? null : differenceText(board.address, left.length, first));
  }
}

async function* listedProjects(
  store: PartitionLister,
  directory: Directory,
): AsyncGenerator<Project, void, void> {
  for await (const group of tenantPartitions(store, { tenant: "project", record: "project" })) {
    for (const { tenant, kind } of group) {
      const project = kind === "directory" ? await directory.project(tenant.project ?? "") : null;
      if (project !== null) yield project;
    }
  }
}

function isSameDifference(one: Difference, other: Difference): boolean {
  return one.userId === other.userId && one.shown === other.shown && one.recorded === other.recorded;
}

function differenceText(
  { projectId, eventId, leaderboardId, season }: ComparedBoard["address"],
  count: number,
  { userId, shown, recorded }: Difference,
): string {
  const event = eventId === null ? "" : ` --event ${eventId}`;
  const ofSeason = season === "" ? "" : ` --season ${season}`;
  return (
    `${count} leading entries differ from what users have (user ${userId} has ${recorded} and is shown with ${shown}): ` +
    `run grandstand leaderboards rebuild ${leaderboardId} --project ${projectId}${event}${ofSeason}`
  );
}
