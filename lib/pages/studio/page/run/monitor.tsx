/** What fans see of an element, its results, and what the producer needs to know beside it. */

import { useEffect, useState } from "preact/hooks";
import { saveTable } from "../../../shared/page/files.ts";
import { Preview, type PreviewView } from "../../../shared/page/preview_frame.tsx";
import { useFeedAssets } from "../feed_assets.ts";
import { messageOf, repeat } from "../problem.ts";
import { choicesOf, meanOf, titleOf } from "../results.ts";
import { Act, announce } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import type { Desk } from "./desk.ts";
import { Bars } from "./row.tsx";
import type { Item } from "./rundown.ts";

const answersMs = 5_000;
const answersMax = 50;
const views: readonly PreviewView[] = ["phone", "screen", "overlay"];

interface MonitorProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  readonly id: string | null;
}

export function Monitor({ context, desk, id }: MonitorProps) {
  const [view, setView] = useState<PreviewView>("phone");
  const [locale, setLocale] = useState("");
  const hasShow = useShow(desk.rundown.eventId);
  const { rundown } = desk;
  const item = id === null ? undefined : rundown.items.get(id)?.value;
  const parts = item?.attributes.content_type === "group" ? rundown.childrenOf(item.id) : [];
  const assets = useFeedAssets(context, item === undefined ? [] : [item, ...parts]);
  if (item === undefined) return null;
  const { attributes } = item;
  const notes = String(Object(attributes.annotations).notes ?? "");
  const hasVotes = choicesOf(attributes).length > 0;
  return (
    <aside class="monitor" aria-label="Monitor">
      {hasShow && (
        <>
          <div class="row spread">
            <h2>
              Preview of <bdi>{titleOf(attributes)}</bdi>
            </h2>
            <fieldset class="switch" aria-label="Preview as">
              {views.map(each => (
                <button key={each} type="button" aria-pressed={each === view} onClick={() => setView(each)}>
                  {each}
                </button>
              ))}
            </fieldset>
            <Language context={context} locale={locale} choose={setLocale} />
          </div>
          <Preview
            key={view}
            event={rundown.eventId}
            element={item}
            parts={parts}
            assets={assets}
            locale={locale || undefined}
            view={view}
          />
        </>
      )}
      {notes !== "" && <p class="notes">{notes}</p>}
      {hasVotes && (
        <section class="stack">
          <div class="row spread">
            <h2>Results</h2>
            <button type="button" class="plain" onClick={() => saveResults(desk, item)}>
              CSV<span class="hidden"> of results</span>
            </button>
          </div>
          <Bars desk={desk} id={item.id} max={100} />
        </section>
      )}
      {attributes.content_type === "ask" && (
        <Answers key={item.id} context={context} desk={desk} id={item.id} />
      )}
    </aside>
  );
}

interface LanguageProps {
  readonly context: ViewContext;
  /** "": that of the browser. */
  readonly locale: string;
  readonly choose: (locale: string) => void;
}

function Language({ context: { chain }, locale, choose }: LanguageProps) {
  const project = chain.find(({ type }) => type === "projects");
  const locales = (project?.attributes.locales ?? []) as readonly string[];
  if (locales.length < 2) return null;
  return (
    <select
      aria-label="Language of the preview"
      value={locale}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      <option value="">your language</option>
      {locales.map(each => (
        <option key={each}>{each}</option>
      ))}
    </select>
  );
}

function saveResults({ rundown }: Desk, { id, attributes }: Item): void {
  const { votes } = rundown.count(id).peek();
  const rows = choicesOf(attributes).map((option, index) => [option, votes[index] ?? 0]);
  const mean = meanOf(attributes, votes);
  saveTable(titleOf(attributes), [["Option", "Votes"], ...rows, ...(mean === null ? [] : [["Mean", mean]])]);
}

let found: Promise<boolean> | undefined;

/** Whether the platform has the page for fans. */
export function useShow(eventId: string): boolean {
  const [isThere, setThere] = useState(false);
  useEffect(() => {
    found ??= fetch(`show?event=${eventId}&preview=1`, { method: "HEAD" }).then(({ ok }) => ok);
    found.then(setThere, () => {});
  }, []);
  return isThere;
}

interface Answer {
  readonly id: string;
  readonly attributes: { readonly text: string; readonly at: number; readonly shown: boolean };
}

interface AnswersProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  readonly id: string;
}

/** What fans wrote, newest first, and whether everybody sees it. */
function Answers({ context, desk, id }: AnswersProps) {
  const { api, signal } = context;
  const [answers, setAnswers] = useState<readonly Answer[] | null>(null);
  const [fault, setFault] = useState("");
  async function read(): Promise<void> {
    setAnswers(await api.control.listAnswers({ elementId: id, "page[count]": answersMax }, { signal }));
  }
  useEffect(() => {
    const leave = new AbortController();
    const until = AbortSignal.any([signal, leave.signal]);
    const report = (error: unknown): void => setFault(error === null ? "" : messageOf(error));
    repeat(read, { everyMs: answersMs, signal: until, report });
    return () => leave.abort();
  }, []);
  async function show(answer: Answer, shown: boolean): Promise<void> {
    const data = [{ type: "answers", id: answer.id, attributes: { shown } }] as const;
    try {
      await api.control.showAnswers({ elementId: id, body: { data: [...data] } });
      await read();
      announce(shown ? "Shown to everybody" : "Hidden");
    } catch (error) {
      setFault(messageOf(error));
    }
  }
  return (
    <section class="stack">
      <h2>Answers</h2>
      <p class="fault" role="alert">
        {fault}
      </p>
      {answers?.length === 0 && <p class="quiet">Nobody has written yet.</p>}
      <ul class="answers">
        {answers?.map(answer => (
          <li key={answer.id} data-shown={answer.attributes.shown}>
            <span dir="auto">{answer.attributes.text}</span>
            <Act refusal={desk.refusal} onPress={() => void show(answer, !answer.attributes.shown)}>
              {answer.attributes.shown ? "Hide" : "Show"}
            </Act>
          </li>
        ))}
      </ul>
    </section>
  );
}
