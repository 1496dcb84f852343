import { suggestion } from "../lib/base/text/suggest.ts";

/** Variables of commands, which a server does not read. */
const commandVariables: readonly string[] = [
  "GRANDSTAND_CONFIG",
  "GRANDSTAND_CONTROL_URL",
  "GRANDSTAND_NO_INPUT",
  "GRANDSTAND_PROFILE",
  "GRANDSTAND_TOKEN",
  "GRANDSTAND_URL",
  "GRANDSTAND_API_KEY",
  "GRANDSTAND_API_SECRET",
  "GRANDSTAND_OTHER_TOKEN",
  "GRANDSTAND_ORG",
  "GRANDSTAND_SPACE",
  "GRANDSTAND_EXPORT_PASSWORD",
];

/** Reports variables of the environment that have our prefix and mean nothing. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): readonly string[] {
  const known = [...settings, ...commandVariables];
  return Object.keys(environment)
    .filter(name => name.startsWith("GRANDSTAND_") && !known.includes(name))
    .map(name => `There is no ${name}.${suggestion(name, known)}`);
}

/** Settings that may contradict each other. */
export interface CombinedSettings {
  readonly redis?: string;
  readonly data?: string;
  readonly workers?: "inline" | "off";
  readonly exports?: "inline" | "off";
  readonly loyalty?: string;
  readonly defaultSpaceId?: string;
}

/** Reports combinations of settings that cannot work. */
export function impossibleCombinations(settings: CombinedSettings, demo: boolean): readonly string[] {
  const { redis, data, workers, exports, loyalty, defaultSpaceId } = settings;
  const problems: string[] = [];
  if (redis !== undefined && data !== undefined) {
    problems.push("GRANDSTAND_REDIS and GRANDSTAND_DATA must not both be set: state is in one place");
  }
  for (const [name, value] of Object.entries({ GRANDSTAND_WORKERS: workers, GRANDSTAND_EXPORTS: exports })) {
    if (value !== "off" || redis !== undefined) continue;
    problems.push(`${name} must not be off without GRANDSTAND_REDIS: no worker can share another store`);
  }
  if (loyalty !== undefined && defaultSpaceId === undefined && !demo) {
    problems.push(
      "GRANDSTAND_DEFAULT_SPACE must be set with GRANDSTAND_LOYALTY: it names the space to configure",
    );
  }
  return problems;
}
