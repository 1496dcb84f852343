/** The settings of a project's app, or of an event: edited as JSON, compared with what is live, and pushed. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Resource } from "./api.ts";
import { Differences, DocumentEditor, Moved, OpenFile, saveFile } from "./documents/editor.tsx";
import { differences, isMembers, jsonText, readJson } from "./documents/json_text.ts";
import { type Live, useSaved } from "./documents/saved.ts";
import { messageOf } from "./problem.ts";
import { Act, Problem } from "./ui.tsx";
import { refusalOf, type ViewContext } from "./view.ts";

interface Setting {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

type Settings = readonly Setting[];

/** Characters of a digest that are shown. */
const digestCharacters = 19;

export function SettingsView({ context }: { readonly context: ViewContext }) {
  const { chain, signal, announce, guard, role } = context;
  const scope = chain.at(-1) as Resource;
  const isEvent = scope.type === "events";
  const saved = useSaved<Settings>({
    read: () => readSettings(context, scope),
    write: (settings, { tag }) => writeSettings(context, { scope, settings, tag }),
    pointer: "/data/attributes/settings",
    signal,
  });
  const { live, moved } = saved;
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? (live === null ? "" : jsonText(live.value));
  const read = useMemo(() => readJson(shown), [shown]);
  const changes = useMemo(
    () => (live === null || read.fault !== null ? [] : differences(live.value, read.value)),
    [live, read],
  );
  useEffect(() => guard(() => text !== null && (read.fault !== null || changes.length > 0)), [text, read, changes]);
  if (live === null) {
    if (saved.error !== null) return <Problem error={saved.error} retry={saved.load} />;
    return <p class="quiet">Loading…</p>;
  }
  const faults = saved.faults.length > 0 ? saved.faults : shapeFaults(read.value, isEvent ? live.value : []);
  const lacking = refusalOf(role, isEvent ? "creator" : "admin");
  const refusal =
    lacking ??
    (read.fault !== null || faults.length > 0 ? "Correct the faults first." : null) ??
    (changes.length === 0 ? "Nothing has changed." : null);
  async function push(): Promise<void> {
    const now = await saved.save(read.value as Settings);
    if (now === null) return;
    setText(null);
    announce("The settings are live.");
  }
  function takeOver(): void {
    const merged = saved.join(read.value as Settings);
    if (merged !== null) setText(jsonText(merged.value));
  }
  const where = isEvent ? "event" : "project";
  return (
    <div class="view">
      <div class="row spread">
        <p class="quiet">
          {live.value.length} {live.value.length === 1 ? "setting" : "settings"} live · {live.note}
        </p>
        <div class="row">
          <OpenFile refusal={lacking} onText={setText} />
          <button type="button" onClick={() => saveFile(`settings-${scope.id}.json`, shown)}>
            Save as file
          </button>
        </div>
      </div>
      <p>
        What the app of your fans reads. It belongs to the app: the platform checks its form, not its meaning. The same
        files serve <code>grandstand projects settings pull</code> and <code>push</code>.
      </p>
      {moved !== null && (
        <Moved
          theirs={differences(live.value, moved.value)}
          onJoin={takeOver}
          onDrop={() => {
            setText(null);
            void saved.load();
          }}
        />
      )}
      <DocumentEditor
        label={`Settings of the ${where}`}
        text={shown}
        read={read}
        faults={faults}
        isReadOnly={lacking !== null}
        onText={setText}
      />
      {saved.error !== null && (
        <p class="fault" role="alert">
          {messageOf(saved.error)}
        </p>
      )}
      <section>
        <div class="row spread">
          <h2>What a push changes</h2>
          <div class="row">
            <Act refusal={text === null ? "Nothing has changed." : null} onPress={() => setText(null)}>
              Undo all
            </Act>
            <Act class="main" refusal={saved.isBusy ? "It is being pushed." : refusal} onPress={push}>
              Push to the {where}
            </Act>
          </div>
        </div>
        <Differences differences={changes} caption="What a push changes" from="Live" to="Yours" />
      </section>
    </div>
  );
}

async function readSettings({ api, signal }: ViewContext, { type, id }: Resource): Promise<Live<Settings>> {
  const isEvent = type === "events";
  const { headers, document } = isEvent
    ? await api.control.readEvent({ eventId: id, "fields[events]": "settings" }, { signal }).whole()
    : await api.control.readProject({ projectId: id, "fields[projects]": "settings" }, { signal }).whole();
  const { attributes, meta } = document.data as Resource & { readonly meta?: Readonly<Record<string, unknown>> };
  const digest = String(meta?.settings_digest ?? "").slice(0, digestCharacters);
  const read = new Date().toLocaleTimeString();
  return {
    value: attributes.settings as Settings,
    tag: headers.get("etag") ?? "",
    note: isEvent ? `read at ${read}` : `${digest}… · read at ${read}`,
  };
}

interface Push {
  readonly scope: Resource;
  readonly settings: Settings;
  readonly tag: string;
}

function writeSettings({ api }: ViewContext, { scope: { type, id }, settings, tag }: Push): Promise<unknown> {
  const data = { type, id, attributes: { settings } };
  const options = { headers: { "if-match": tag } };
  return type === "events"
    ? api.control.changeEvent({ eventId: id, body: { data } } as never, options)
    : api.control.changeProject({ projectId: id, body: { data } } as never, options);
}

/** Lists what the server would refuse, or silently keep: an event's settings are joined by key. */
function shapeFaults(value: unknown, kept: Settings) {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [{ pointer: "", detail: 'Expected a list of {"key", "values"}' }];
  const shape = value.flatMap((item: unknown, index) => {
    const isSetting = isMembers(item) && typeof item.key === "string" && isMembers(item.values);
    return isSetting ? [] : [{ pointer: `/${index}`, detail: 'Expected {"key": "…", "values": {"all": …}}' }];
  });
  const gone = kept.filter(({ key }) => !value.some(item => isMembers(item) && item.key === key));
  const lost = gone.map(({ key }) => ({
    pointer: "",
    detail: `Expected the setting ${key}: an event keeps its settings, so empty the values instead`,
  }));
  return [...shape, ...lost];
}
