/** The frame of the page: where one is, the views of that place, and the view that the address names. */

import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useErrorBoundary, useRef, useState } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { Api, type Resource, type Role, type ScopeType, scopeTypes, textOf } from "./api.ts";
import { openByKey, openPalette, Palette, useCommands } from "./palette.tsx";
import { hrefOf, type Place, placeOf } from "./places.ts";
import { messageOf } from "./problem.ts";
import type { Share } from "./share.tsx";
import { askToSignIn } from "./sign_in.ts";
import { Act, announce, Menu, Problem, Questions, said } from "./ui.tsx";
import { historyOf } from "./undo.ts";
import { refusalOf, type SignedIn, type View, type ViewContext, type ViewEntry } from "./view.ts";
import { views } from "./views.ts";

const above: Readonly<Record<ScopeType, string>> = {
  organisations: "my_role",
  spaces: "my_role,organisation",
  projects: "my_role,space.organisation",
  events: "my_role,project.space.organisation",
};

/** The script is in a folder of its own below the address of the platform. */
const api = new Api(new URL("..", import.meta.url).href.replace(/\/$/, ""), signIn);
const user = signal<SignedIn | null>(null);

/** Time for which what the page says is on the screen, in ms. */
const saidMs = 6_000;

/** What the page shows. */
interface Scene {
  readonly place: Place;
  readonly chain: readonly Resource[];
  readonly role: Role | null;
  readonly admins: readonly string[];
  /** Null: it loads. */
  readonly shown: { readonly View: View; readonly context: ViewContext } | { readonly error: unknown } | null;
}

const scene = signal<Scene>({
  place: placeOf(location.hash),
  chain: [],
  role: null,
  admins: [],
  shown: null,
});
let leave = new AbortController();
const nothing = (): boolean => false;
let isUnsaved = nothing;
let signingIn: Promise<void> | null = null;

/** Asks once, however many requests wait for it. */
function signIn(): Promise<void> {
  // The dialog takes the focus from a field, whose text is then saved: that must not ask again.
  signingIn ??= Promise.resolve()
    .then(() => askToSignIn(api))
    .finally(() => {
      signingIn = null;
      user.value = null;
      readUser().catch(() => {});
      if (document.activeElement === document.body) focusMain();
    });
  return signingIn;
}

let reading: Promise<SignedIn> | null = null;

/** Asks once who is signed in, however many want to know. */
function readUser(): Promise<SignedIn> {
  if (user.value !== null) return Promise.resolve(user.value);
  reading ??= api.control
    .readMe({})
    .then(({ id, attributes }) => {
      const email = textOf({ attributes: { ...attributes } }, "email");
      const found = { id, email, isOperator: attributes.system_role === "operator" };
      user.value = found;
      return found;
    })
    .finally(() => {
      reading = null;
    });
  return reading;
}

function focusMain(): void {
  document.querySelector("main")?.focus();
}

function viewsOf({ scope }: Place): Readonly<Record<string, ViewEntry>> {
  return views[scope?.type ?? "platform"];
}

/** Returns the name of the view that a place shows. */
function viewNameOf(place: Place): string {
  const names = Object.keys(viewsOf(place));
  return names.find(name => name === place.view) ?? names[0] ?? "";
}

async function show(): Promise<void> {
  const place = placeOf(location.hash);
  const { shown, ...before } = scene.value;
  const isSameScope = before.place.scope?.id === place.scope?.id;
  const isSameView = isSameScope && viewNameOf(before.place) === viewNameOf(place);
  if (isSameView && shown !== null && "View" in shown) {
    // Another item of the same view: the view stays.
    scene.value = { ...before, place, shown: { ...shown, context: { ...shown.context, place } } };
    return;
  }
  leave.abort();
  leave = new AbortController();
  isUnsaved = nothing;
  const { signal: left } = leave;
  const known = isSameScope ? before : { chain: [], role: null, admins: [] };
  scene.value = { ...known, place, shown: null };
  readUser().catch(() => {});
  try {
    const entry = viewsOf(place)[viewNameOf(place)];
    const [scope, View] = await Promise.all([scopeOf(place, left), entry?.load()]);
    if (left.aborted || View === undefined) return;
    const guard = (question: () => boolean): void => {
      if (!left.aborted) isUnsaved = question;
    };
    const takeScope = (attributes: Resource["attributes"]): void => {
      const { chain } = scene.value;
      const last = chain.at(-1);
      if (left.aborted || last === undefined) return;
      const known = { ...last, attributes: { ...last.attributes, ...attributes } };
      scene.value = { ...scene.value, chain: [...chain.slice(0, -1), known] };
    };
    const context = { api, place, ...scope, signal: left, guard, takeScope, announce, user, readUser };
    scene.value = { place, ...scope, shown: { View, context } };
  } catch (error) {
    if (!left.aborted) scene.value = { ...known, place, shown: { error } };
  }
}

async function scopeOf(
  { scope }: Place,
  left: AbortSignal,
): Promise<Pick<Scene, "chain" | "role" | "admins">> {
  if (scope === null) return { chain: [], role: null, admins: [] };
  const { type, id } = scope;
  const { data, included = [] } = await api.scope(type, id, { include: above[type] }, left);
  const rank = (resource: Resource): number => scopeTypes.indexOf(resource.type as ScopeType);
  const chain = [...included.filter(each => rank(each) >= 0), data].sort((a, b) => rank(a) - rank(b));
  const granted = included.find(each => each.type === "scope_roles" && each.id === id);
  const role = granted === undefined ? "none" : textOf(granted, "role");
  const { admins = [] } = (granted?.meta ?? {}) as Partial<Pick<Scene, "admins">>;
  return { chain, role: role === "none" ? null : (role as Role), admins };
}

function App() {
  const { place, chain, role, admins, shown } = scene.value;
  const name = viewNameOf(place);
  const entry = viewsOf(place)[name];
  const titles = [chain.at(-1), entry].map(each => (each === undefined ? "" : titleOf(each)));
  useEffect(() => {
    document.title = [...titles.filter(title => title !== "").reverse(), "Grandstand Studio"].join(" · ");
  }, titles);
  const refusal = chain.length === 0 ? null : refusalOf(role, entry?.role ?? "viewer", admins);
  return (
    <>
      <header>
        <div class="top">
          <Trail chain={chain} title={place.scope === null || shown !== null ? (entry?.title ?? "") : "…"} />
          {shown !== null && "context" in shown && place.scope?.type === "projects" && (
            <ShareProject context={shown.context} />
          )}
          <Account />
        </div>
        {place.scope !== null && <Tabs scope={place.scope} current={name} />}
      </header>
      <main tabIndex={-1} data-view={name}>
        {shown === null ? (
          <Loading />
        ) : "error" in shown ? (
          <Problem error={shown.error} retry={show} />
        ) : refusal !== null && entry?.role !== undefined ? (
          <p class="empty">{refusal}</p>
        ) : (
          <Guarded key={shown.context.signal} {...shown} />
        )}
      </main>
      <Questions />
      <Palette />
      <Said />
    </>
  );
}

/** A view whose fault leaves the rest of the page as it is. */
function Guarded({ View, context }: { readonly View: View; readonly context: ViewContext }) {
  const [error, again] = useErrorBoundary(thrown => reportError(thrown));
  return error === undefined ? <View context={context} /> : <Problem error={error} retry={again} />;
}

/** What the page says, for a while on the screen as well. */
function Said() {
  const { value: text } = said;
  const line = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // Shown anew it lies above a dialog that has opened meanwhile.
    line.current?.hidePopover();
    line.current?.showPopover();
    const timer = setTimeout(() => {
      said.value = "";
    }, saidMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p class="said" role="status" ref={line} popover="manual">
      {text}
    </p>
  );
}

/** The two ways through what was changed. */
const turns = {
  undo: {
    label: "Undo",
    mark: "↶",
    of: "done",
    none: "Nothing to take back. Undo covers edits, moves, shifted times, pastes, copies and deletions, not takes and stops.",
    refusal: "Not taken back.",
  },
  redo: {
    label: "Redo",
    mark: "↷",
    of: "undone",
    none: "Nothing to do again. Redo repeats what you took back, until you change something else.",
    refusal: "Not done again.",
  },
} as const;
type Turn = keyof typeof turns;

/** Takes back what was changed last, or does it again. */
async function turn(way: Turn): Promise<void> {
  const { none, refusal } = turns[way];
  try {
    announce((await historyOf(api)[way]()) ?? none);
  } catch (error) {
    const isOvertaken = error instanceof GrandstandError && error.status === 412;
    announce(`${refusal} ${isOvertaken ? "Somebody has changed it since." : messageOf(error)}`);
  }
}

/** Buttons for changes, once there are any. */
function Turns() {
  const history = historyOf(api);
  const ways: readonly Turn[] = ["undo", "redo"];
  const nexts = ways.map(way => history[turns[way].of].value.at(-1));
  if (nexts.every(next => next === undefined)) return null;
  return ways.map((way, index) => {
    const { label, mark, none } = turns[way];
    const next = nexts[index];
    return (
      <Act
        key={way}
        class="plain turn"
        label={label}
        title={next?.label}
        refusal={next === undefined ? none : null}
        onPress={() => void turn(way)}
      >
        {mark}
      </Act>
    );
  });
}

/** True for a field of text, where the browser takes back what was typed. */
function takesBackItself(target: EventTarget | null): boolean {
  const others = '[type="checkbox"], [type="radio"], [type="color"], [type="range"], [type="file"]';
  return (
    target instanceof Element && target.closest(`input:not(${others}), textarea, [contenteditable]`) !== null
  );
}

function titleOf(named: Resource | ViewEntry): string {
  return "title" in named ? named.title : textOf(named, "name");
}

interface TrailProps {
  readonly chain: readonly Resource[];
  /** The heading where no scope is known. */
  readonly title: string;
}

/** The way to the place, whose last step is the heading of the page. */
function Trail({ chain, title }: TrailProps) {
  const last = chain.at(-1);
  const project = last?.type === "events" ? chain.at(-2) : undefined;
  return (
    <>
      <a class="brand" href="#/" aria-label="Grandstand">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M1 10h4v5H1zM6 6h4v9H6zM11 1h4v14h-4z" />
        </svg>
        <span>Grandstand</span>
      </a>
      <nav class="trail" aria-label="You are here">
        {chain.slice(0, -1).map(resource => (
          <a key={resource.id} href={hrefOf(resource)}>
            {textOf(resource, "name")}
          </a>
        ))}
        {project !== undefined && <a href={hrefOf(project, "events")}>All events</a>}
      </nav>
      <h1>{last === undefined ? title : textOf(last, "name")}</h1>
    </>
  );
}

/** Says where fans find what the project has on. */
function ShareProject({ context }: { readonly context: ViewContext }) {
  const [Shown, setShown] = useState<typeof Share | null>(null);
  const open = (): void =>
    void import("./share.tsx").then(
      part => setShown(() => part.Share),
      error => announce(messageOf(error)),
    );
  useCommands(() => [{ label: "Share the page of the project", run: open }]);
  return (
    <>
      <button type="button" class="plain" onClick={open}>
        Share
      </button>
      {Shown !== null && <Shown context={context} onClose={() => setShown(null)} />}
    </>
  );
}

interface TabsProps {
  readonly scope: NonNullable<Place["scope"]>;
  readonly current: string;
}

function Tabs({ scope, current }: TabsProps) {
  const entries = Object.entries(views[scope.type]);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    // A telephone shows the first tabs alone.
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [scope.id, current]);
  useCommands(() => [
    ...entries.map(([name, { title }]) => ({
      label: `Go to ${title}`,
      run: () => location.assign(hrefOf(scope, name)),
    })),
    { label: "Take back the last change", shortcut: "Ctrl Z", run: () => void turn("undo") },
    { label: "Do it again", shortcut: "Ctrl Shift Z", run: () => void turn("redo") },
  ]);
  return (
    <nav class="tabs" aria-label="Views" ref={tabs}>
      {entries.map(([name, { title }], index) => (
        <a
          key={name}
          href={index === 0 ? hrefOf(scope) : hrefOf(scope, name)}
          {...(name === current && { "aria-current": "page" as const })}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

function Account() {
  const { value } = user;
  if (value === null) return <span class="account" />;
  const { email, isOperator } = value;
  const signOut = (): void => {
    api.token = "";
    location.reload();
  };
  return (
    <div class="account">
      <Turns />
      <button type="button" class="plain ask-command" onClick={openPalette}>
        Commands <kbd>Ctrl K</kbd>
      </button>
      <Menu
        label="Account"
        note={email}
        mark={<span class="avatar" data-letter={email.slice(0, 1)} />}
        items={[
          ...(isOperator ? [{ label: "Operations", to: "#/operations" }] : []),
          { label: "Sign out", to: signOut },
        ]}
      />
    </div>
  );
}

/** Appears only where an answer takes long enough to be waited for. */
function Loading() {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="quiet" role="status">
      {isSlow ? "Loading…" : ""}
    </p>
  );
}

/** Links from elsewhere name what they open by parameters. */
for (const type of ["event", "project"]) {
  const id = new URLSearchParams(location.search).get(type);
  if (id !== null) history.replaceState(null, "", location.pathname + hrefOf({ type: `${type}s`, id }));
}
addEventListener("beforeunload", event => {
  if (isUnsaved()) event.preventDefault();
});
addEventListener("hashchange", ({ oldURL }) => {
  // Back and links inside the page: the browser asks only where the page itself is left.
  if (isUnsaved() && !confirm("Leave this page? What you entered is lost.")) {
    history.pushState(null, "", oldURL);
    return;
  }
  focusMain();
  void show();
});
addEventListener("keydown", event => {
  openByKey(event);
  const key = event.ctrlKey || event.metaKey ? event.key.toLowerCase() : "";
  if ((key !== "z" && key !== "y") || event.defaultPrevented || takesBackItself(event.target)) return;
  event.preventDefault();
  void turn(key === "y" || event.shiftKey ? "redo" : "undo");
});
render(<App />, document.body);
void show();
