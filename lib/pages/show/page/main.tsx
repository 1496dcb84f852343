/** The page: reads its data, applies the theme, and shows the place that the address names. */

import { signal, useSignal } from "@preact/signals";
import { type ComponentType, type JSX, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { textOn } from "../../shared/colours.ts";
import { type Preview, receivePreviews } from "../../shared/page/preview.ts";
import type { PageData } from "../page_data.ts";
import { hostPort, serveHost } from "./embedded.ts";
import { Events } from "./events.tsx";
import { Toasts } from "./notices.tsx";
import { Now } from "./now.tsx";
import { type MailedCode, type Refusal, Show } from "./show.ts";
import { useSeconds } from "./show_time.ts";
import type { SignInProps } from "./sign_in.tsx";
import { chooseLocale, clockTime, countryName, t } from "./texts.ts";

interface ViewProps {
  readonly show: Show;
  readonly rest: string;
}
type View = ComponentType<ViewProps>;

const places = ["now", "board", "me", "shop", "events"] as const;
type Place = (typeof places)[number];

async function viewOf(place: Place): Promise<View> {
  if (place === "now") return Now;
  return place === "events" ? Events : (await import("./more.ts"))[place];
}

const mailed = signal<MailedCode | null>(null);
const hash = signal(readHash());
addEventListener("hashchange", () => {
  hash.value = readHash();
});

/** Reads the place. Takes the code of a mailed link out of the address and its history at once. */
function readHash(): string {
  const given = new URLSearchParams(location.hash.slice(1));
  const email = given.get("email");
  const code = given.get("code");
  if (email === null || code === null) return location.hash;
  mailed.value = { email, code };
  history.replaceState(null, "", "#/me");
  return location.hash;
}

function placeOf(text: string): readonly [Place, string] {
  const [, name = "", rest = ""] = /^#\/?([a-z]*)\/?(.*)$/.exec(text) ?? [];
  return [places.find(each => each === name) ?? "now", decoded(rest)];
}

/** Fragments are typed, too. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns what is in place of a part that could not be loaded: the page is older than the platform, or the network is gone. */
function missing(part: Place | "signIn"): () => JSX.Element {
  return () => (
    <div class="card empty">
      <p>{t("failed", { reason: t(part) })}</p>
      <button type="button" onClick={() => location.reload()}>
        {t("retry")}
      </button>
    </div>
  );
}

function App({ show }: { readonly show: Show }) {
  const [place, rest] = placeOf(hash.value);
  const [view, setView] = useState<{ readonly place: Place; readonly View: View }>({
    place: "now",
    View: Now,
  });
  useEffect(() => {
    let isLeft = false;
    viewOf(place)
      .catch(() => missing(place))
      .then(View => {
        if (isLeft) return;
        setView({ place, View });
        if (view.place !== place) document.querySelector("main")?.focus();
      });
    return () => {
      isLeft = true;
    };
  }, [place]);
  const { View } = view;
  const refusal = show.refusal.value;
  return (
    <>
      {show.only === null && <Header show={show} />}
      <Offline show={show} />
      <main tabIndex={-1}>
        {refusal !== null && (refusal.kind === "place" || place === "now") ? (
          <Refused show={show} refusal={refusal} />
        ) : (
          <View show={show} rest={rest} />
        )}
      </main>
      {refusal?.kind !== "place" && !show.isPreview && show.only === null && (
        <Sections show={show} place={place} />
      )}
      <Toasts show={show} />
      <Ended show={show} />
      <p class="hidden" role="status">
        {show.said}
      </p>
    </>
  );
}

function Header({ show }: { readonly show: Show }) {
  const { settings, project } = show.data;
  const isLive = show.eventState.value === "current";
  return (
    <header class="bar">
      {settings.logo !== undefined && <img class="logo" src={settings.logo} alt="" />}
      <h1 dir="auto">{show.event?.name ?? project.name}</h1>
      {isLive && <span class="live">{t("live")}</span>}
    </header>
  );
}

/** Says how old the page is as soon as that matters, what happens to votes, and when it tries again. */
function Offline({ show }: { readonly show: Show }) {
  const lost = show.lost.value;
  useSeconds(lost !== null);
  const age = show.age();
  const waiting = show.votes.waiting.value;
  if (lost === null || age === 0) return null;
  const seconds = Math.ceil((lost.retryAt - performance.now()) / 1_000);
  return (
    <aside class="offline" aria-label={t("offlineTitle")}>
      <p>
        <strong>{t(lost.isBusy ? "busy" : "offlineTitle")}</strong>{" "}
        {t("asOf", { time: clockTime(Date.now() - age) })}
        {waiting > 0 && `. ${t("votesWait", { count: waiting })}`}
      </p>
      <div class="row">
        <span>{seconds > 0 ? t("retryIn", { seconds }) : t("connecting")}</span>
        <button type="button" onClick={() => show.retry()}>
          {t("retry")}
        </button>
      </div>
    </aside>
  );
}

/** Lets the fan sign in again over the page, whose place is kept. */
function Ended({ show }: { readonly show: Show }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useSignal<ComponentType<SignInProps> | null>(null);
  const ended = show.ended.value;
  const isOpen = ended !== null;
  useEffect(() => {
    if (!isOpen) return void dialog.current?.close();
    dialog.current?.showModal();
    import("./more.ts").then(
      ({ signIn }) => {
        form.value = signIn;
      },
      () => {
        form.value = missing("signIn");
      },
    );
  }, [isOpen]);
  const { value: SignIn } = form;
  return (
    <dialog ref={dialog} aria-labelledby="ended-title" onClose={() => (show.ended.value = null)}>
      <h2 id="ended-title">{t("sessionEnded")}</h2>
      <p>{t("endedNote")}</p>
      {SignIn !== null && ended !== null && show.data.settings.signIn !== "none" && (
        <SignIn show={show} hasAccount={ended.provider === "managedPool"} />
      )}
      <button type="button" onClick={() => dialog.current?.close()}>
        {t("goOn")}
      </button>
    </dialog>
  );
}

function Sections({ show, place }: { readonly show: Show; readonly place: Place }) {
  const shown = places.filter(
    each => (each !== "board" || show.listedBoards.length > 0) && (each !== "shop" || place === "shop"),
  );
  return (
    <nav aria-label={t("sections")}>
      {shown.map(each => (
        <a
          key={each}
          href={`#/${each === "now" ? "" : each}`}
          {...(each === place && { "aria-current": "page" as const })}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d={icons[each]} />
          </svg>
          {t(each)}
        </a>
      ))}
    </nav>
  );
}

const icons: Readonly<Record<Place, string>> = {
  now: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm-2 5.5 6 3.5-6 3.5Z",
  board: "M4 20V12h4v8Zm6 0V5h4v15Zm6 0v-6h4v6Z",
  me: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm-8 16c0-4 4-6 8-6s8 2 8 6Z",
  shop: "M5 8h14l-1 12H6Zm4 0V6a3 3 0 0 1 6 0v2",
  events: "M5 6h14v14H5Zm0 4h14M9 3v4m6-4v4",
};

function Refused({ show, refusal }: { readonly show: Show; readonly refusal: Refusal }) {
  if (refusal.kind === "moved") return <Events show={show} rest="" note={t("moved")} />;
  return (
    <p class="card empty">
      {refusal.country === null
        ? t("unknownPlace")
        : t("refusedPlace", { country: countryName(refusal.country) })}
    </p>
  );
}

/** Applies the colours and the font of the project. */
function applyTheme({ settings }: PageData, theme: string | null): void {
  const root = document.documentElement;
  const { accent, ground, ink } = settings.colours ?? {};
  root.style.cssText = "";
  const set = (name: string, value: string): void => root.style.setProperty(name, value);
  if (accent !== undefined) {
    set("--accent", accent);
    set("--on-accent", textOn(accent));
  }
  if (ground !== undefined && ink !== undefined) {
    set("--ground", ground);
    set("--ink", ink);
    set("color-scheme", textOn(ground) === "#000000" ? "light" : "dark");
  } else if (theme === "light" || theme === "dark") set("color-scheme", theme);
  root.dataset.font = settings.font;
}

type Draw = (show: Show) => void;

async function open(): Promise<void> {
  const page = document.getElementById("page");
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "null") as PageData | null;
  if (page === null) return;
  const host = hostPort(data?.hosts ?? []);
  const asked = new URLSearchParams(location.search);
  const wanted = [asked.get("locale") ?? "", ...navigator.languages].filter(name => name !== "");
  const { view } = document.documentElement.dataset;
  await chooseLocale(wanted, data?.project.locales ?? []);
  page.replaceChildren();
  if (data === null) {
    if (view !== "overlay") render(<Lost />, page);
    return;
  }
  // A hall is dark.
  const theme = asked.get("theme") ?? (view === "screen" ? "dark" : null);
  applyTheme(data, theme);
  const draw = await drawing(view, asked, page);
  const only = asked.get("element");
  if (asked.has("preview")) return followPreviews({ data, theme, only, draw });
  const show = new Show(data, { only, mailed });
  draw(show);
  if (view !== undefined) return show.follow();
  void host.then(port => serveHost(show, port));
  await show.start();
}

/** Returns what draws the view that the address names. */
async function drawing(view: string | undefined, asked: URLSearchParams, page: HTMLElement): Promise<Draw> {
  if (view === undefined) return show => render(<App show={show} />, page);
  const { Screen } = await import("./more.ts");
  const counted = asked.get("count");
  return show => render(<Screen show={show} isOverlay={view === "overlay"} counted={counted} />, page);
}

function Lost() {
  return (
    <main>
      <p class="card empty">{t("moved")}</p>
    </main>
  );
}

interface PreviewsOptions {
  readonly data: PageData;
  readonly theme: string | null;
  readonly only: string | null;
  readonly draw: Draw;
}

/** Shows what the studio sends, without a request. */
function followPreviews({ data, theme, only, draw }: PreviewsOptions): void {
  let shown: string | undefined;
  let show = new Show(data, { isPreview: true, only });
  async function take({ timeline, stats, isLive, locale, settings }: Preview): Promise<void> {
    await chooseLocale([locale ?? "", ...navigator.languages], data.project.locales);
    if (shown !== JSON.stringify(settings)) {
      shown = JSON.stringify(settings);
      const own = { ...data, settings: { ...data.settings, ...settings } };
      show = new Show(own, { isPreview: true, only });
      applyTheme(own, theme);
    }
    const history = { timeline, config: {}, version: 0 };
    const livestats = { state: isLive ? "current" : "future", elements: stats } as const;
    show.take({ history, livestats, projectLeaderboards: {} });
    draw(show);
  }
  // One after another, as a language takes time to load.
  let taken = Promise.resolve();
  receivePreviews(preview => {
    taken = taken.then(() => take(preview));
  });
}

void open();
