/**
 * Imports the questions of a CSV file into an event as quizzes: all of them in one request, or none.
 *
 * ```csv
 * question,option 1,option 2,option 3,correct
 * Who scored first?,Home,Away,Nobody,2
 * ```
 */

import * as v from "valibot";
import { digestOf } from "../../base/text/mod.ts";
import {
  alert,
  ControlError,
  fileInput,
  input,
  TaskFailed,
  type TaskRun,
  type Turn,
  text,
  type View,
  workflow,
} from "../mod.ts";
import type { ExampleOptions } from "./options.ts";
import { type Question, QuestionSchema, readQuestions } from "./questions.ts";

/** Questions that are checked at a time, so that progress can be seen. */
const chunk = 50;
/** An import that was writing already is not taken back. */
const cancelled = "The event has no questions of this file, or all of them if they were being written.";
const shownMax = 10;

/** The questions of the file that was read last. */
const StateSchema = v.object({ questions: v.optional(v.array(QuestionSchema), []) });
type State = v.InferOutput<typeof StateSchema>;

const upload = input.file("csv", "CSV file");

/** Creates the backend. It runs in events, for creators. */
export function quizFromCsv(options: ExampleOptions) {
  return workflow<State>({
    ...options,
    name: "quiz-from-csv",
    require: { scope: ["event"], role: "creator" },
    state: StateSchema,
  })
    .start(c =>
      c
        .view(
          text`Choose a file with the columns <strong>question</strong>, <strong>option 1</strong> and so on, and <strong>correct</strong>.`,
          upload,
        )
        .button("import", "Import"),
    )
    .on("import", { inputs: { csv: fileInput({ bytesMax: 2_000_000 }) } }, (c, { csv: { bytes } }) => {
      const { questions, faults } = readQuestions(bytes);
      return faults.length > 0 ? anotherFile(c, faults) : begin(c.setState({ questions: [...questions] }));
    })
    .on("again", c => begin(c))
    .on("cancel", c => c.cancelTask().view(alert("info", cancelled, "Cancelled")))
    .task("import", { idempotent: true }, importQuestions)
    .done<number>("import", (c, created) =>
      c.view(
        created === 0
          ? alert("info", "The event has the questions of this file already.")
          : alert("success", `${created} quizzes are in the event as drafts.`, "Imported"),
      ),
    )
    .fail("import", (c, { safeMessage, data }) =>
      data === undefined
        ? c.view(alert("error", safeMessage, "Nothing was imported")).button("again", "Try again")
        : anotherFile(c, data as readonly string[]),
    );
}

function begin(c: Turn<State>): View {
  const { questions } = c.state;
  return c
    .task("import", questions, text`Importing <strong>${questions.length} questions</strong>`)
    .button("cancel", "Cancel");
}

function anotherFile(c: Turn<State>, faults: readonly string[]): View {
  const more = faults.length - shownMax;
  const shown = [...faults.slice(0, shownMax), ...(more > 0 ? [`and ${more} more`] : [])];
  return c
    .view(
      ...shown.map(fault => alert("error", fault)),
      text`Nothing was imported. Choose the corrected file:`,
      upload,
    )
    .button("import", "Import");
}

/** Imports questions unless the event has them. The guard lets one import through where two run at once. */
async function importQuestions(
  { api, context, ...run }: TaskRun<State>,
  questions: readonly Question[],
): Promise<number> {
  const event = { type: "events", id: context.eventId ?? "" };
  const digest = await digestOf(JSON.stringify(questions));
  const operations = questions.map(question => operationOf(question, event, digest));
  const faults: string[] = [];
  for (let at = 0; at < operations.length; at += chunk) {
    await run.progress((at / operations.length) * 90, `Checking row ${questions[at]?.row}`);
    const part = { "atomic:operations": operations.slice(at, at + chunk) };
    faults.push(...(await faultsOf(questions.slice(at), () => api.post("/operations?dry_run=true", part))));
  }
  if (faults.length === 0) {
    await run.progress(90, "Writing");
    const { data } = await api.get<{ data: { meta: { etag: string } } }>(`/events/${event.id}`);
    const imported = `filter[annotation]=${encodeURIComponent(`import=${digest}`)}&page[count]=1`;
    const found = await api.get<{ data: unknown[] }>(`/events/${event.id}/elements?${imported}`);
    if (found.data.length > 0) return 0;
    const annotated = { ...event, attributes: { annotations: { last_import: digest } } };
    const guard = { op: "update", data: annotated, meta: { if_match: data.meta.etag } } as const;
    // Should this process die before it hears the answer, a repetition under the same key changes nothing.
    const write = () => api.atomic([guard, ...operations], { idempotencyKey: run.id });
    faults.push(...(await faultsOf([null, ...questions], write)));
  }
  if (faults.length > 0) throw new TaskFailed("The questions cannot be imported", faults);
  return questions.length;
}

function operationOf(
  { question, options, correct }: Question,
  event: { readonly type: string; readonly id: string | undefined },
  digest: string,
) {
  const field = (key: string, value: string) => ({ key, values: { all: value } });
  const attributes = {
    content_type: "quiz",
    name: question.slice(0, 200),
    question: {
      fields: [field("question", question)],
      options: options.map(option => ({ fields: [field("text", option)] })),
    },
    correct_option: correct,
    annotations: { import: digest },
  };
  return {
    op: "add" as const,
    data: { type: "elements", attributes, relationships: { event: { data: event } } },
  };
}

/** Makes a request with an operation for each question, and returns why it was refused, with the rows. */
async function faultsOf(
  questions: readonly (Question | null)[],
  request: () => Promise<unknown>,
): Promise<readonly string[]> {
  try {
    await request();
    return [];
  } catch (error) {
    if (!(error instanceof ControlError) || error.faults.length === 0) throw error;
    return error.faults.map(({ detail = "It was refused", source }) => {
      const index = /^\/atomic:operations\/(\d+)/.exec(source?.pointer ?? "")?.[1];
      const row = index === undefined ? undefined : questions[Number(index)]?.row;
      return row === undefined ? detail : `Row ${row}: ${detail}`;
    });
  }
}
