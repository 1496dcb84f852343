/** Profiles: named settings in a file of their owner. A flag wins over a variable, a variable over the profile. */

import { isMembers, parsedJson } from "../../base/json/mod.ts";
import { address } from "./checks.ts";
import { CliError, exits, wrongUsage } from "./errors.ts";
import type { CliHost, ConfigFile, TokenSource } from "./host.ts";
import { kindOf, type Target } from "./resources.ts";

/** A resource that a profile may change, with all below it. */
export interface AllowEntry {
  readonly kind: string;
  readonly id: string;
  readonly label?: string;
}

/** A profile. Unknown members are kept. */
export interface Profile {
  readonly control_url?: string;
  readonly org?: string;
  readonly space?: string;
  readonly token?: TokenSource;
  /** Absent: unrestricted. Empty: read-only. */
  readonly allow?: readonly AllowEntry[];
  readonly urls?: Readonly<Record<string, string>>;
}

interface Configuration {
  readonly version: 1;
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export interface Settings {
  /** Name of the profile; `default` where none is named. */
  readonly profileName: string;
  /** Empty where the configuration has no such profile. */
  readonly profile: Profile;
  /** Null: no platform is named. */
  readonly controlUrl: string | null;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  /** True if a person may be asked. */
  readonly isInteractive: boolean;
  readonly hasColors: boolean;
  readonly hasConsent: boolean;
  readonly timeoutMs: number;
}

const emptyConfiguration: Configuration = { version: 1, profiles: {} };
const configurationBytesMax = 1_048_576;
/** Longest time of a request without --timeout, in s. */
const requestSecondsMax = 30;

/**
 * Reads the configuration.
 *
 * @throws {CliError} It cannot be read, or is not one.
 */
export async function readConfiguration(
  config: ConfigFile,
  warn: (text: string) => void = () => {},
): Promise<Configuration> {
  const { text, isShared } = await config.read();
  if (text === null) return emptyConfiguration;
  if (isShared) warn(`${config.path} may be read by others: chmod 600 ${config.path}`);
  const parsed = text.length > configurationBytesMax ? null : parsedJson(text);
  if (!isConfiguration(parsed)) {
    throw wrongUsage(`${config.path} is no configuration: it must be {"version": 1, "profiles": {…}}`, {
      code: "wrong_configuration",
      hint: "Mend the file, or move it away and run grandstand login",
    });
  }
  return parsed;
}

/** Changes a profile of the configuration; null removes a member. Unknown members are kept. */
export async function writeProfile(
  config: ConfigFile,
  name: string,
  change: Readonly<Record<string, unknown>>,
): Promise<void> {
  const configuration = await readConfiguration(config);
  const { profiles } = configuration;
  const profile = Object.fromEntries(
    Object.entries({ ...profiles[name], ...change }).filter(([, value]) => value !== null),
  );
  const changed = { current: name, ...configuration, profiles: { ...profiles, [name]: profile } };
  await config.write(`${JSON.stringify(changed, null, 2)}\n`);
}

/** Makes a profile the one that is used where none is named. @throws {CliError} There is none of this name. */
export async function useProfile(config: ConfigFile, name: string): Promise<void> {
  const configuration = await readConfiguration(config);
  if (configuration.profiles[name] === undefined) {
    throw wrongUsage(`There is no profile "${name}" in ${config.path}`, { next: "grandstand config list" });
  }
  await config.write(`${JSON.stringify({ ...configuration, current: name }, null, 2)}\n`);
}

/**
 * Computes the settings of a run.
 *
 * @throws {CliError} The configuration is wrong, or has no profile of the given name.
 */
export async function readSettings(
  globals: Readonly<Record<string, string>>,
  {
    hasConsent,
    makesProfile = false,
    usesProfile = true,
  }: { readonly hasConsent: boolean; readonly makesProfile?: boolean; readonly usesProfile?: boolean },
  { config, variables, terminal }: CliHost,
): Promise<Settings> {
  const isQuiet = "quiet" in globals;
  const warn = (text: string): void => void (isQuiet || terminal.warn(`${text}\n`));
  const { current, profiles } = usesProfile ? await readConfiguration(config, warn) : emptyConfiguration;
  const named = globals.profile ?? given(variables.GRANDSTAND_PROFILE);
  const profileName = named ?? current ?? "default";
  const profile = profiles[profileName];
  if (profile === undefined && named !== undefined && usesProfile && !makesProfile) {
    throw wrongUsage(`There is no profile "${named}" in ${config.path}`, {
      next: `grandstand login --profile ${named}`,
    });
  }
  const { stdin, stdout, stderr } = terminal.isTerminal;
  const controlUrl = firstGiven([
    [globals["control-url"], "the command line"],
    [given(variables.GRANDSTAND_CONTROL_URL), "GRANDSTAND_CONTROL_URL"],
    [given(variables.GRANDSTAND_URL), "GRANDSTAND_URL"],
    [profile?.control_url, `profile ${profileName}`],
  ]);
  const isVerbose = "verbose" in globals;
  if (isVerbose) {
    terminal.warn(`profile ${profileName} (${config.path})\n`);
    if (controlUrl !== null) terminal.warn(`control_url ${controlUrl.value} (${controlUrl.source})\n`);
  }
  const noInput = "no-input" in globals || given(variables.GRANDSTAND_NO_INPUT) !== undefined;
  const noColor = "no-color" in globals || given(variables.NO_COLOR) !== undefined;
  return {
    profileName,
    profile: profile ?? {},
    controlUrl: controlUrl?.value ?? null,
    isJson: "json" in globals,
    isQuiet,
    isVerbose,
    isInteractive: stdin && stderr && !noInput && given(variables.CI) === undefined,
    hasColors: stdout && !noColor && variables.TERM !== "dumb",
    hasConsent,
    timeoutMs: Number(globals.timeout ?? requestSecondsMax) * 1_000,
  };
}

export function firstGiven(
  candidates: readonly (readonly [value: string | undefined, source: string])[],
): { readonly value: string; readonly source: string } | null {
  for (const [value, source] of candidates) if (value !== undefined) return { value, source };
  return null;
}

/**
 * Returns the checked address of the platform, without a slash at its end.
 *
 * @throws {CliError} None is named, or credentials must not be sent to it.
 */
export function platformUrl({ controlUrl, profileName }: Settings): string {
  if (controlUrl === null) {
    throw wrongUsage(
      "No platform is named: give --control-url, set GRANDSTAND_CONTROL_URL, or log in to keep one in a profile",
      { code: "no_control_url", next: "grandstand login --control-url https://…" },
    );
  }
  const fault = address(controlUrl);
  if (fault !== null) {
    throw wrongUsage(`The address of the platform ${fault} (profile ${profileName})`, { code: "wrong_url" });
  }
  const { origin, pathname } = new URL(controlUrl);
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/**
 * Returns the token of a run: GRANDSTAND_TOKEN, else that of the profile.
 *
 * @throws {CliError} There is none.
 */
export async function tokenOf(
  { profile, profileName }: Settings,
  { variables, config }: CliHost,
): Promise<string> {
  const direct = given(variables.GRANDSTAND_TOKEN);
  const kept = async () => (profile.token === undefined ? "" : await config.token(profile.token));
  const token = (direct ?? (await kept())).trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CliError(exits.unauthenticated, `Not logged in (profile ${profileName})`, {
    code: "not_logged_in",
    hint: "Log in, or set GRANDSTAND_TOKEN",
    next: `grandstand login${profileName === "default" ? "" : ` --profile ${profileName}`}`,
  });
}

export function given(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function isConfiguration(value: unknown): value is Configuration {
  const { version, profiles } = (value ?? {}) as Partial<Configuration>;
  return version === 1 && isMembers(profiles) && Object.values(profiles).every(isMembers);
}

export function entryFor({ allow = [] }: Profile, targets: readonly Target[]): AllowEntry | null {
  const has = (entry: AllowEntry): boolean =>
    targets.some(({ kind, id }) => id === entry.id && kindOf(entry.kind) === kind);
  return allow.find(has) ?? null;
}

/** Creates the error for a change that the allow-list does not have; `target` is null where it names no resource. */
export function notAllowed({ profile, profileName }: Settings, target: Target | null): CliError {
  const isReadOnly = profile.allow?.length === 0;
  const named = target === null ? "what it is about" : `${target.kind} ${target.id}`;
  const entry =
    target === null
      ? "Name the space with --space"
      : `Its allow-list needs the entry {"kind": "${target.kind}", "id": "${target.id}"}, or one above it`;
  const message = isReadOnly ? "is read-only" : `may not change ${named}`;
  return new CliError(exits.forbidden, `Profile ${profileName} ${message}`, {
    code: "not_in_allow_list",
    hint: entry,
    next: `grandstand scope show --profile ${profileName}`,
  });
}
