/** How the page for fans looks and what it offers: name, languages and `services.show` of a project, beside a preview of the page. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { differences, isMembers, isSame, type Members } from "../../../base/json/mod.ts";
import type { FieldError } from "../../../client/mod.ts";
import { contrast, contrastMin, nearestReadable } from "../../shared/colours.ts";
import { wordsOfBoard } from "../../shared/page/board_name.ts";
import { Preview } from "../../shared/page/preview_frame.tsx";
import type { Resource } from "./api.ts";
import { shownIn } from "./boards.ts";
import { Moved, SaveRow } from "./documents/editor.tsx";
import { type Live, useSaved } from "./documents/saved.ts";
import { Act, Problem } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

interface Page {
  readonly name: string;
  /** Languages of the content. */
  readonly locales: readonly string[];
  readonly show: Members;
}

interface FormProps {
  readonly page: Page;
  readonly set: (page: Page) => void;
  /** Changes settings; undefined returns one to its default. */
  readonly change: (part: Members) => void;
  readonly faults: readonly FieldError[];
  /** Ids of the project's public boards. */
  readonly boards: readonly string[];
}

export function FansPage({ context }: { readonly context: ViewContext }) {
  const project = context.chain.at(-1) as Resource;
  const boards = useRef<readonly string[]>([]);
  const saved = useSaved<Page>({
    ...context,
    read: () => readPage(context, project.id, boards),
    write: (page, { tag }) => writePage(context, { id: project.id, page, tag }),
    pointer: "/data/attributes",
  });
  const { live, moved, faults } = saved;
  const [draft, setDraft] = useState<Page | null>(null);
  const isChanged = draft !== null && live !== null && !isSame(draft, live.value);
  useEffect(() => context.guard(() => isChanged), [isChanged]);
  if (live === null) {
    if (saved.error !== null) return <Problem error={saved.error} retry={saved.load} />;
    return <p class="quiet">Loading…</p>;
  }
  const page = draft ?? live.value;
  const change = (part: Members): void => {
    const show = Object.entries({ ...page.show, ...part }).filter(([, value]) => value !== undefined);
    setDraft({ ...page, show: Object.fromEntries(show) });
  };
  async function save(): Promise<void> {
    if ((await saved.save(page)) === null) return;
    setDraft(null);
    context.announce("The page is live.");
  }
  return (
    <div class="beside">
      <form
        class="stack page-form"
        onSubmit={event => {
          event.preventDefault();
          void save();
        }}
      >
        {moved !== null && (
          <Moved
            theirs={differences(live.value, moved.value)}
            onTakeOver={() => setDraft((saved.join(page)?.value ?? page) as Page)}
            onDrop={() => {
              setDraft(null);
              void saved.load();
            }}
          />
        )}
        <Looks page={page} set={setDraft} change={change} faults={faults} boards={boards.current} />
        <Offers page={page} set={setDraft} change={change} faults={faults} boards={boards.current} />
        <SaveRow
          saved={saved}
          label="Save for fans"
          refusal={isChanged ? null : "Nothing has changed."}
          onSave={save}
          onUndo={isChanged ? () => setDraft(null) : null}
        />
      </form>
      <section class="shown" aria-label="Preview of the page">
        <Preview project={project.id} element={sample} votes={[62, 38]} settings={shownSettings(page.show)} />
      </section>
    </div>
  );
}

/** Leaves out a logo that browsers would refuse, such as half an address. */
function shownSettings({ logo, ...rest }: Members): Members {
  return /^https:\/\/./.test(String(logo ?? "")) ? { ...rest, logo } : rest;
}

const text = (key: string, all: string) => ({ key, values: { all } });
/** A poll that shows the colours in use. */
const sample = {
  id: "00000000-0000-4000-8000-000000000001",
  attributes: {
    content_type: "poll",
    name: "Sample",
    question: {
      fields: [text("question", "Who wins tonight?")],
      options: ["Home", "Away"].map(option => ({ fields: [text("text", option)] })),
    },
  },
};

interface FieldGroupProps {
  readonly label: string;
  readonly hint?: string;
  readonly faults: readonly FieldError[];
  /** Pointer of the value in the attributes of the project. */
  readonly at: string;
  readonly children: ComponentChildren;
}

/** Fields with their heading, hint and faults. */
function FieldGroup({ label, hint, faults, at, children }: FieldGroupProps) {
  const own = faults.filter(({ pointer }) => pointer === at || pointer.startsWith(`${at}/`));
  return (
    <fieldset class="field" data-wrong={own.length > 0}>
      <legend>{label}</legend>
      {children}
      {hint !== undefined && <p class="quiet">{hint}</p>}
      {own.map(({ detail }) => (
        <p key={detail} class="fault">
          {detail}
        </p>
      ))}
    </fieldset>
  );
}

function Looks({ page, set, change, faults }: FormProps) {
  const { logo, font } = page.show;
  return (
    <>
      <FieldGroup label="Name" at="/name" faults={faults}>
        <input
          aria-label="Name of the project"
          value={page.name}
          maxLength={200}
          onInput={event => set({ ...page, name: event.currentTarget.value })}
        />
      </FieldGroup>
      <Languages locales={page.locales} choose={locales => set({ ...page, locales })} faults={faults} />
      <FieldGroup
        label="Logo"
        hint="The https address of an image, such as that of an asset."
        at="/services/show/logo"
        faults={faults}
      >
        <input
          aria-label="Address of the logo"
          type="url"
          value={String(logo ?? "")}
          onInput={({ currentTarget: { value } }) =>
            change({ logo: value.trim() === "" ? undefined : value.trim() })
          }
        />
      </FieldGroup>
      <Colours
        colours={isMembers(page.show.colours) ? page.show.colours : {}}
        change={change}
        faults={faults}
      />
      <Choice
        label="Font"
        name="font"
        value={String(font ?? "system")}
        options={{ system: "System", serif: "Serif", rounded: "Rounded" }}
        onValue={value => change({ font: value })}
        at="/services/show/font"
        faults={faults}
      />
    </>
  );
}

/** Languages to choose from; the API takes any. */
const offeredTags =
  "ar bg bn ca cs da de el en es et eu fa fi fr ga gl he hi hr hu id is it ja ko lt lv ms nb nl pl pt pt-BR ro ru sk sl sq sr sv th tr uk ur vi zh";
const languageNames = new Intl.DisplayNames(["en"], { type: "language" });
const languages = offeredTags
  .split(" ")
  .map(tag => ({ tag, name: languageNames.of(tag) ?? tag }))
  .sort((a, b) => a.name.localeCompare(b.name, "en"));

interface LanguagesProps {
  readonly locales: readonly string[];
  readonly choose: (locales: readonly string[]) => void;
  readonly faults: readonly FieldError[];
}

function Languages({ locales, choose, faults }: LanguagesProps) {
  return (
    <FieldGroup
      label="Languages"
      hint="Elements have texts for each, beside those for all. Fans whose own language is none of them get the first."
      at="/locales"
      faults={faults}
    >
      <ol class="order">
        {locales.map((tag, at) => {
          const name = languageNames.of(tag) ?? tag;
          const rest = locales.filter(each => each !== tag);
          return (
            <li key={tag} class="row spread">
              {name} ({tag})
              <span class="row">
                <Moves
                  name={name}
                  at={at}
                  count={locales.length}
                  moveTo={to => choose(rest.toSpliced(to, 0, tag))}
                />
                <Act label={`Remove ${name}`} onPress={() => choose(rest)}>
                  ×
                </Act>
              </span>
            </li>
          );
        })}
      </ol>
      <select
        aria-label="Add a language"
        value=""
        onChange={({ currentTarget }) => {
          choose([...locales, currentTarget.value]);
          currentTarget.value = "";
        }}
      >
        <option value="">Add a language…</option>
        {languages
          .filter(({ tag }) => !locales.includes(tag))
          .map(({ tag, name }) => (
            <option key={tag} value={tag}>
              {name}
            </option>
          ))}
      </select>
    </FieldGroup>
  );
}

interface MovesProps {
  readonly name: string;
  readonly at: number;
  /** Length of the list. */
  readonly count: number;
  readonly moveTo: (at: number) => void;
}

/** Moves an item of a list up or down. */
function Moves({ name, at, count, moveTo }: MovesProps) {
  return (
    <>
      <Act
        label={`Move ${name} up`}
        refusal={at === 0 ? "It is the first." : null}
        onPress={() => moveTo(at - 1)}
      >
        ↑
      </Act>
      <Act
        label={`Move ${name} down`}
        refusal={at === count - 1 ? "It is the last." : null}
        onPress={() => moveTo(at + 1)}
      >
        ↓
      </Act>
    </>
  );
}

interface ColoursProps {
  readonly colours: Members;
  readonly change: FormProps["change"];
  readonly faults: FormProps["faults"];
}

const isColour = (value: unknown): value is string =>
  typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value);

/** Colours where the project has none of its own. */
const plain = { accent: "#3b4fd8", ground: "#ffffff", ink: "#171c24" } as const;

function Colours({ colours, change, faults }: ColoursProps) {
  const { accent, ground, ink } = colours;
  const setColours = (part: Members): void => {
    const next = Object.entries({ ...colours, ...part }).filter(([, value]) => value !== undefined);
    change({ colours: next.length === 0 ? undefined : Object.fromEntries(next) });
  };
  const field = (name: keyof typeof plain, label: string) => (
    <span class="colour">
      <input
        type="color"
        aria-label={`${label}, colour`}
        value={isColour(colours[name]) ? String(colours[name]) : plain[name]}
        onInput={event => setColours({ [name]: event.currentTarget.value })}
      />
      <input
        aria-label={label}
        value={String(colours[name] ?? "")}
        placeholder="by default"
        maxLength={7}
        spellcheck={false}
        onInput={({ currentTarget: { value } }) => setColours({ [name]: value.trim() || undefined })}
      />
    </span>
  );
  const hasGround = ground !== undefined || ink !== undefined;
  return (
    <FieldGroup label="Colours" at="/services/show/colours" faults={faults}>
      <div class="colours">
        <span>Accent</span>
        {field("accent", "Accent")}
        <label class="row">
          <input
            type="checkbox"
            checked={hasGround}
            onChange={({ currentTarget: { checked } }) =>
              setColours(
                checked ? { ground: plain.ground, ink: plain.ink } : { ground: undefined, ink: undefined },
              )
            }
          />
          A ground of your own, the same in light and dark
        </label>
        {hasGround && (
          <>
            <span>Ground</span>
            {field("ground", "Ground")}
            <span>Text</span>
            {field("ink", "Text")}
          </>
        )}
      </div>
      {isColour(ground) && isColour(ink) && (
        <Contrast ground={ground} ink={ink} onInk={value => setColours({ ink: value })} />
      )}
      {accent !== undefined && !isColour(accent) && <p class="fault">Write a colour as #1b5bdb.</p>}
    </FieldGroup>
  );
}

interface ContrastProps {
  readonly ground: string;
  readonly ink: string;
  readonly onInk: (ink: string) => void;
}

function Contrast({ ground, ink, onInk }: ContrastProps) {
  const found = contrast(ground, ink);
  const nearest = nearestReadable(ground, ink);
  if (found >= contrastMin) {
    return <p class="good">✓ Text has a contrast of {found.toFixed(1)}:1.</p>;
  }
  return (
    <p class="row">
      <span class="fault">
        Text has a contrast of {found.toFixed(1)}:1; it needs {contrastMin}:1.
      </span>
      <button type="button" onClick={() => onInk(nearest)}>
        Use {nearest}, the nearest that passes
      </button>
    </p>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly onValue: (value: string) => void;
  readonly at: string;
  readonly faults: readonly FieldError[];
}

function Choice({ label, name, value, options, onValue, at, faults }: ChoiceProps) {
  return (
    <FieldGroup label={label} at={at} faults={faults}>
      <div class="row">
        {Object.entries(options).map(([option, title]) => (
          <label key={option} class="row">
            <input
              type="radio"
              name={name}
              value={option}
              checked={option === value}
              onChange={() => onValue(option)}
            />
            {title}
          </label>
        ))}
      </div>
    </FieldGroup>
  );
}

function Offers({ page, change, faults, boards }: FormProps) {
  const { signIn, actions, embed } = page.show;
  const { vote, ...others } = isMembers(actions) ? actions : {};
  const origins =
    isMembers(embed) && Array.isArray(embed.origins) ? (embed.origins as readonly string[]) : [];
  return (
    <>
      <Boards boards={boards} chosen={page.show.boards} change={change} faults={faults} />
      <Choice
        label="How fans keep their points"
        name="sign-in"
        value={String(signIn ?? "email")}
        options={{ email: "With an e-mail address", name: "Under a name", none: "On the device alone" }}
        onValue={value => change({ signIn: value })}
        at="/services/show/signIn"
        faults={faults}
      />
      <FieldGroup
        label="Action of votes"
        hint="The page reports votes under this name, which the loyalty of the space declares."
        at="/services/show/actions"
        faults={faults}
      >
        <input
          aria-label="Action of votes"
          value={String(vote ?? "")}
          placeholder="vote"
          onInput={({ currentTarget: { value } }) =>
            change({ actions: value.trim() === "" ? others : { ...others, vote: value.trim() } })
          }
        />
      </FieldGroup>
      <FieldGroup
        label="Pages that may show it in a frame"
        hint="One origin a line, such as https://club.example. Browsers show it on no other site."
        at="/services/show/embed"
        faults={faults}
      >
        <textarea
          aria-label="Origins, one a line"
          rows={3}
          value={origins.join("\n")}
          onInput={({ currentTarget: { value } }) =>
            change({ embed: value === "" ? undefined : { origins: value.split("\n") } })
          }
        />
      </FieldGroup>
    </>
  );
}

interface BoardsProps extends Omit<FormProps, "page" | "set"> {
  /** Undefined: all public ones. */
  readonly chosen: unknown;
}

function Boards({ boards, chosen, change, faults }: BoardsProps) {
  const list = Array.isArray(chosen) ? (chosen as readonly string[]) : null;
  const set = (next: readonly string[]): void => change({ boards: next });
  const rows = list === null ? boards : [...list, ...boards.filter(id => !list.includes(id))];
  return (
    <FieldGroup label="Boards" at="/services/show/boards" faults={faults}>
      <label class="row">
        <input
          type="checkbox"
          checked={list === null}
          onChange={event =>
            change({ boards: event.currentTarget.checked ? undefined : boards.slice(0, boardsMax) })
          }
        />
        All public boards
      </label>
      {list !== null && (
        <ol class="order">
          {rows.map(id => {
            const at = list.indexOf(id);
            return (
              <li key={id} class="row spread">
                <label class="row">
                  <input
                    type="checkbox"
                    checked={at >= 0}
                    onChange={event =>
                      set(event.currentTarget.checked ? [...list, id] : list.filter(each => each !== id))
                    }
                  />
                  {wordsOfBoard(id)}
                </label>
                {at >= 0 && (
                  <span class="row">
                    <Moves
                      name={wordsOfBoard(id)}
                      at={at}
                      count={list.length}
                      moveTo={to => set(list.filter(each => each !== id).toSpliced(to, 0, id))}
                    />
                  </span>
                )}
              </li>
            );
          })}
        </ol>
      )}
    </FieldGroup>
  );
}

/** Most boards of the page for fans. */
const boardsMax = 10;

async function readPage(
  { api, signal }: ViewContext,
  projectId: string,
  boards: { current: readonly string[] },
): Promise<Live<Page>> {
  const query = { projectId, "fields[projects]": "name,locales,services" };
  const { headers, document } = await api.control.readProject(query, { signal }).whole();
  const { name, locales, services } = document.data.attributes as {
    readonly name: string;
    readonly locales: readonly string[];
    readonly services?: Members;
  };
  boards.current = shownIn(services?.leaderboards).map(({ id }) => id);
  const show = (services?.show ?? {}) as Members;
  return { value: { name, locales, show }, tag: headers.get("etag") ?? "" };
}

interface Change {
  readonly id: string;
  readonly page: Page;
  readonly tag: string;
}

function writePage({ api }: ViewContext, { id, page, tag }: Change): Promise<unknown> {
  const { name, locales, show } = page;
  const attributes = { name, locales: [...locales], services: { show } };
  const data = { type: "projects" as const, id, attributes };
  return api.control.changeProject({ projectId: id, body: { data } }, { headers: { "if-match": tag } });
}
