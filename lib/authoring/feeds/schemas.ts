/** Schemas of the feeds, which are the types of what builds them. */

import * as v from "valibot";
import { ListSchema } from "../../fans/leaderboards/http/schema.ts";
import { described, describedText, named } from "../../http/mod.ts";

const seconds = (description: string) => described(v.nullable(v.number()), `${description}, in Unix seconds`);
const iso = (description: string) => described(v.nullable(v.string()), `${description}, as ISO 8601`);
const knownIso = (description: string) => describedText(`${description}, as ISO 8601`);
const record = v.record(v.string(), v.unknown());
const byLocale = v.record(v.string(), record);
const count = (description: string) => described(v.number(), description);
const id = describedText("Id");
const feedVersion = described(v.number(), "Counts the changes of the elements of the event");

export const ListingsSchema = named(
  "Listings",
  v.object({
    project: v.object({
      uuid: describedText("Id of the project"),
      name: describedText("Name"),
      audio_sync_default_delay: described(v.number(), "Default delay of audio synchronisation, in seconds"),
      audio_sync_max_delay: described(v.number(), "Longest delay of audio synchronisation, in seconds"),
      tracking_id: describedText("Id under which analytics knows the project"),
      embed: describedText("Address of the page that shows the project"),
      history_ignore: described(v.array(v.string()), "Content types that no history shows"),
      is_localisation_supported: described(v.boolean(), "True if the content has languages"),
      locales: described(v.array(v.string()), "Languages of the content"),
    }),
    events: described(
      v.array(
        v.object({
          id,
          name: describedText("Name"),
          state: describedText("State"),
          start_at: seconds("When it begins or began"),
          start_at_iso: iso("`start_at`"),
          end_at: seconds("When it ends or ended"),
          end_at_iso: iso("`end_at`"),
          started: described(v.boolean(), "True from its begin on"),
          image_url: described(v.nullable(v.string()), "Address of its image: the setting `image_url`"),
          custom_fields: described(record, "Its settings by key"),
          digest: describedText("Changes whenever anything of this entry does"),
          extra_time: described(v.number(), "Seconds that its end was put off"),
        }),
      ),
      "Every running event and every one on demand, with the nearest past and future ones, by begin",
    ),
    assets: described(v.record(v.string(), v.array(v.unknown())), "Files by type of service"),
  }),
);

const question = described(byLocale, "Texts of the question by locale and key; `all` for every locale");
const correctOption = described(
  v.exactOptional(v.number()),
  "Number of the right option, counted from 1, once it is revealed; absent where there is none",
);

const altTexts = v.exactOptional(described(v.record(v.string(), v.string()), "Texts of pictures by address"));

const votingRules = described(
  v.object({
    min: v.pipe(v.number(), v.description("Fewest options of a vote")),
    max: v.pipe(v.number(), v.description("Most options of a vote; 0 means no bound")),
    perUser: v.pipe(v.number(), v.description("Most votes of a user; 0 means no bound")),
    verified: v.pipe(v.boolean(), v.description("True if only verified users may vote")),
    answerOnVote: v.pipe(v.boolean(), v.description("True if a user sees the answer with the vote")),
    resultsMode: v.pipe(v.string(), v.description("When results are shown")),
  }),
  "How votes for it are taken",
);

export const HistorySchema = named(
  "History",
  v.object({
    timeline: described(
      v.array(
        v.object({
          id,
          content_type: describedText("Type of the content"),
          state: describedText("State"),
          parent: described(v.exactOptional(v.string()), "Id of the wrapper that shows it"),
          published_at_iso: knownIso("When it was published"),
          closes_at_iso: v.exactOptional(knownIso("When it closes or closed; absent while nothing ends it")),
          duration: v.exactOptional(
            count("Seconds for which it is open; absent if only a stop or the end of its event closes it"),
          ),
          updated_at_iso: knownIso("When it was changed last"),
          custom_fields: described(byLocale, "Fields by locale and key; `all` for every locale"),
          question,
          options: described(v.array(byLocale), "Fields of each option"),
          correct_option: correctOption,
          alt_texts: altTexts,
          answers: v.exactOptional(
            described(
              v.array(v.object({ id, text: describedText("What the fan wrote") })),
              "Texts of fans that are shown, the one that was shown last first",
            ),
          ),
          vote: votingRules,
        }),
      ),
      "Elements that were published and not revoked, oldest first",
    ),
    config: described(byLocale, "Settings of the event by locale and key"),
    version: feedVersion,
  }),
);

const votes = described(v.array(v.number()), "Number of choices of each option, in order");

export const LatestResultsSchema = named(
  "LatestResults",
  v.object({
    results: described(
      v.array(
        v.object({
          id,
          content_type: describedText("Type of the content"),
          published_at_iso: knownIso("When it was published"),
          results_revealed_at_iso: knownIso("When its results became public"),
          question,
          options: described(v.array(byLocale), "Fields of each option"),
          actions: count("Number of actions that named it"),
          votes,
          correct_option: correctOption,
          alt_texts: altTexts,
        }),
      ),
      "Elements with `include_in_latest_results_feed` whose results are public, latest first",
    ),
    version: feedVersion,
  }),
);

export const LiveStatsSchema = named(
  "LiveStats",
  v.object({
    id,
    state: describedText("State of the event"),
    actions: count("Number of actions that named the event or one of its elements"),
    elements: described(
      v.array(
        v.object({
          id,
          actions: count("Number of actions that named it"),
          votes: v.exactOptional(votes),
        }),
      ),
      "Published elements, oldest first; with votes once their results are public",
    ),
  }),
);

const pageMembers = {
  now: count("When the document was made, in Unix milliseconds"),
  page: describedText("Version of the pages; a page of another one should load itself anew"),
};
const boards = (owner: string) =>
  described(
    v.record(v.string(), v.nullable(ListSchema)),
    `Leaderboards of ${owner}, by id; null while one is not public`,
  );

export const LiveEventSchema = named(
  "LiveEvent",
  v.object({
    ...pageMembers,
    history: HistorySchema,
    livestats: LiveStatsSchema,
    leaderboards: boards("the event"),
    projectLeaderboards: boards("its project"),
  }),
);

export const LiveProjectSchema = named(
  "LiveProject",
  v.object({ ...pageMembers, listings: ListingsSchema, leaderboards: boards("the project") }),
);

export type Listings = v.InferOutput<typeof ListingsSchema>;
export type History = v.InferOutput<typeof HistorySchema>;
export type LatestResults = v.InferOutput<typeof LatestResultsSchema>;
export type LiveStats = v.InferOutput<typeof LiveStatsSchema>;
