/** Random manifests. */

import { createRandom } from "../../adapters/conformance/random.ts";
import { catalogueUrl } from "./_apps.ts";

type Plain = Record<string, unknown>;

/** Texts that YAML or references could take for something else. */
const texts = [
  "Who wins?",
  "yes",
  "1",
  "2026-01-01",
  "a: b # c",
  "\\{{not}} a key",
  "¿Quién? 🎉",
  "{{vars.word}}s",
];

/** Random choices, of which another edition makes some in another way. */
function choices(seed: number, edition: number) {
  const { integer } = createRandom(seed);
  const changes = createRandom(seed * 1_000 + edition).integer;
  const one = <T>(list: readonly T[]): T => list[integer(list.length)] as T;
  let isHeld = false;
  const isChanged = (): boolean => edition > 0 && changes(3) === 0 && !isHeld;
  const text = (): string => {
    const made = one(texts);
    return isChanged() ? `${made} ${edition}` : made;
  };
  return {
    ...{ integer, one, isChanged, text },
    /** Keeps what is published as it is. */
    hold(isPublic: boolean): boolean {
      isHeld = isPublic;
      return isPublic;
    },
    maybe(make: () => Plain): Plain {
      const made = make();
      return integer(2) === 0 ? made : {};
    },
    localised: (): unknown => (integer(3) === 0 ? { en: text(), "es-ES": text() } : text()),
  };
}
type Choices = ReturnType<typeof choices>;

function element(
  key: string,
  keys: readonly string[],
  { integer, one, isChanged, text, maybe, localised, hold }: Choices,
) {
  const isPublic = hold(integer(2) === 0);
  const options = Array.from({ length: 2 + integer(3) }, () =>
    integer(2) === 0 ? text() : { text: localised() },
  );
  const question = integer(2) === 0 ? text() : { question: localised() };
  const contents: readonly Plain[] = [
    { type: "poll", question, options },
    {
      type: "quiz",
      data: { question, options, fields: { correctAnswer: 1 + integer(2), points: integer(9) } },
    },
    { type: "message", fields: { title: localised(), body: "<strong>Welcome</strong>", severity: "info" } },
    { type: "ask", data: { fields: { prompt: `{{${one(keys)}}}` } } },
    { type: "cta", fields: { label: text(), url: "https://tickets.example/" } },
  ];
  return {
    key,
    ...one(contents),
    ...maybe(() => ({ name: text() })),
    ...maybe(() => ({ duration: integer(100) + (isChanged() ? 1 : 0) })),
    ...maybe(() => ({ reveal_results_mode: one(["vote", "close", "manual"]) })),
    ...(isPublic ? maybe(() => ({ start_mode: "timecode", start_offset: integer(1_000) })) : {}),
    ...maybe(() => ({ annotations: { note: text() } })),
    ...(isPublic ? { publish: true } : {}),
  };
}

function event(number: number, edition: number, made: Choices): Plain {
  const { integer, one, text, maybe, localised } = made;
  const keys = Array.from({ length: 1 + integer(6) }, (_, index) => `q${index}`);
  const elements = keys.map(key => element(key, keys, made));
  // The clock of tests stands in June 2025.
  const startAt = one(["2099-05-01T20:00:00+02:00", "2025-06-15T15:00:00Z", "2020-01-01T00:00:00Z"]);
  const isPublic = made.hold(integer(2) === 0);
  const wrapper = {
    ...{ key: "rail", type: "group", fields: { title: text() } },
    children: keys.filter((_, index) => index % 2 === 0).map(key => `{{${key}}}`),
    publish: isPublic,
  };
  made.hold(false);
  const isRenamed = edition > 0 && number === 0;
  return {
    key: isRenamed ? "opening" : `ep${number}`,
    ...(isRenamed ? { aliases: ["ep0"] } : {}),
    name: `Episode ${number}`,
    duration: one([0, 3_600, 31_536_000]),
    ...maybe(() => ({ start_at: startAt })),
    ...maybe(() => ({ settings: { skin: localised(), first: "{{q0}}" } })),
    ...maybe(() => ({ end_mode: "scheduled", end_at: "2099-05-02T00:00:00Z" })),
    elements: integer(2) === 0 ? [wrapper, ...elements] : elements,
  };
}

/** Returns the manifest of a seed. Edition 1 has changes, an event more in each project, and another key for the first one. */
export function randomShow(seed: number, edition = 0): Plain {
  const { integer } = createRandom(seed);
  return {
    version: 1,
    id: `show-${seed}`,
    vars: { word: "win" },
    apps: [{ key: "catalogue", spec_url: catalogueUrl }],
    projects: Array.from({ length: 1 + integer(2) }, (_, index) => {
      const made = choices(seed * 10 + index, edition);
      const { text, maybe } = made;
      return {
        key: `project-${index}`,
        name: text(),
        app: "{{catalogue}}",
        ...maybe(() => ({ enabled_types: ["poll", "quiz", "message", "ask", "cta", "group"] })),
        ...maybe(() => ({ locales: ["en", "es-ES"] })),
        ...maybe(() => ({ settings: { skin: text() } })),
        ...maybe(() => ({ services: { location: { allow: ["FR"] } } })),
        events: Array.from({ length: made.integer(3) + edition }, (_each, number) =>
          event(number, edition, choices(seed * 100 + index * 10 + number, edition)),
        ),
      };
    }),
  };
}
