/** The section `show` of a project's settings: how its page for fans looks, and what it offers. */

import * as v from "valibot";
import { isTimeZone } from "../../base/calendar/mod.ts";
import type { FieldError } from "../../base/errors/mod.ts";
import type { Settings } from "../../fans/directory/mod.ts";
import { fieldErrors } from "../../http/requests/validate.ts";
import { memoize } from "../../storage/background/mod.ts";
import { contrast, contrastMin, nearestReadable } from "../shared/colours.ts";

/** Most boards of a page: its one stream has no more. */
const boardsMax = 10;
const originsMax = 20;

const Colour = v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/i, "Expected a colour such as #1b5bdb"));
const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const HttpsUrl = v.pipe(
  v.string(),
  v.maxLength(2_000),
  v.check(text => URL.canParse(text) && new URL(text).protocol === "https:", "Expected an https address"),
);
const Origin = v.pipe(
  v.string(),
  v.maxLength(300),
  v.check(
    text => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text,
    "Expected an origin such as https://club.example",
  ),
);
const Colours = v.pipe(
  v.strictObject({
    accent: v.exactOptional(Colour),
    ground: v.exactOptional(Colour),
    ink: v.exactOptional(Colour),
  }),
  v.check(
    ({ ground, ink }) => (ground === undefined) === (ink === undefined),
    "Expected ground and ink together, as text is read on the ground",
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { ground, ink } = dataset.value;
    if (ground === undefined || ink === undefined || contrast(ground, ink) >= contrastMin) return;
    addIssue({
      message: `Expected a contrast of ${contrastMin}:1 between ground and ink, it is ${contrast(ground, ink).toFixed(1)}:1; the nearest ink that passes is ${nearestReadable(ground, ink)}`,
    });
  }),
);

const Actions = v.strictObject({ vote: v.optional(Id, "vote"), ask: v.optional(Id, "ask") });

export const ShowSchema = v.strictObject({
  address: v.exactOptional(
    v.pipe(HttpsUrl, v.description("A short address that leads to the page, for people who type it")),
  ),
  logo: v.exactOptional(v.pipe(HttpsUrl, v.description("The https address of an image"))),
  colours: v.exactOptional(Colours),
  timeZone: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(isTimeZone, "Expected a time zone such as Europe/Berlin"),
      v.description("Zone in which producers read the times of their shows"),
    ),
  ),
  font: v.optional(v.picklist(["system", "serif", "rounded"]), "system"),
  boards: v.exactOptional(
    v.pipe(
      v.array(Id),
      v.maxLength(boardsMax),
      v.description("Ids of the project's boards that fans see; all public ones unless set"),
    ),
  ),
  signIn: v.pipe(
    v.optional(v.picklist(["none", "name", "email"]), "email"),
    v.description("How fans keep their points beyond a device"),
  ),
  actions: v.pipe(v.optional(Actions, {}), v.description("Names of the actions that the page reports")),
  embed: v.exactOptional(
    v.pipe(
      v.strictObject({ origins: v.pipe(v.array(Origin), v.maxLength(originsMax)) }),
      v.description("Origins whose pages may show this one in a frame, beside the platform's own"),
    ),
  ),
});

export type ShowSettings = v.InferOutput<typeof ShowSchema>;

/** Lists the faults of the section `show` in the settings of a project. */
export function showFaults({ show }: Settings, pointer: string): FieldError[] {
  return fieldErrors(v.safeParse(ShowSchema, show ?? {}).issues, `${pointer}/show`);
}

/** Reads the section; its defaults where it is not valid, so that fans see a page. */
export const showSettings: (settings: Settings) => ShowSettings = memoize(({ show }: Settings) => {
  const { success, output } = v.safeParse(ShowSchema, show ?? {});
  return success ? output : v.parse(ShowSchema, {});
});

/** Returns the ids of the boards that the page shows. */
export function shownBoards(settings: Settings): readonly string[] {
  const { leaderboards } = settings;
  const { boards } = showSettings(settings);
  if (!Array.isArray(leaderboards)) return [];
  const open = (leaderboards as readonly { readonly id: string; readonly visibility?: string }[])
    .filter(({ visibility }) => visibility !== "hidden")
    .map(({ id }) => id);
  return (boards?.filter(id => open.includes(id)) ?? open).slice(0, boardsMax);
}
