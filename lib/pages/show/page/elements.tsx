/** One element of a show, by its type. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Ask, Cheer, Rating } from "./answers.tsx";
import { Choice } from "./choice.tsx";
import { altOf, fieldOf, linkOf, Picture, pictureOf, Rich, savesData, textOf } from "./content.tsx";
import { type ItemProps, isOpen, Rows, Title, useOwnRows, VoteLine } from "./parts.tsx";
import { boardOf, type Item, type Show } from "./show.ts";
import { useTimeLeft } from "./show_time.ts";
import { boardName, duration, locale, number, t } from "./texts.ts";

interface ElementProps {
  readonly show: Show;
  readonly id: string;
}

export const choices = new Set(["poll", "quiz", "prediction", "rpoll", "trivia"]);

/** An element as the fan sees it. */
export function Element({ show, id }: ElementProps) {
  const item = show.items.get(id)?.value;
  if (item === undefined) return null;
  const { content_type: type } = item;
  if (type === "group") return <Group show={show} item={item} />;
  return (
    <article
      class="card element"
      data-type={type}
      data-state={item.state}
      aria-labelledby={`t-${id}`}
      id={`e-${id}`}
    >
      {choices.has(type) ? (
        <Choice show={show} item={item} />
      ) : type === "rating" ? (
        <Rating show={show} item={item} />
      ) : type === "ask" ? (
        <Ask show={show} item={item} />
      ) : type === "cheer" ? (
        <Cheer show={show} item={item} />
      ) : type === "countdown" ? (
        <Countdown show={show} item={item} />
      ) : (
        <Still show={show} item={item} />
      )}
    </article>
  );
}

function Countdown({ show, item }: ItemProps) {
  const at = Date.parse(String(fieldOf(item.custom_fields, "target") ?? ""));
  const left = useTimeLeft(show.time, at);
  return (
    <>
      <Title item={item} />
      <p class="countdown" role="timer">
        {left.value > 0 ? duration(left.value) : t("now")}
      </p>
    </>
  );
}

/** Types that fans read, open or collect. */
function Still({ show, item }: ItemProps) {
  const { content_type: type, custom_fields: fields } = item;
  if (type === "message") {
    const severity = String(fieldOf(fields, "severity") ?? "info");
    const kind = (["info", "success", "warning", "error"] as const).find(each => each === severity) ?? "info";
    return (
      <>
        <p class="severity" data-severity={kind}>
          {t(`message_${kind}`)}
        </p>
        {textOf(fields, "title") === "" ? (
          <h2 class="hidden" id={`t-${item.id}`}>
            {t(`message_${kind}`)}
          </h2>
        ) : (
          <Title item={item} />
        )}
        <Picture {...pictureOf(item, fields)} />
        <Rich text={textOf(fields, "body")} />
      </>
    );
  }
  if (type === "media") return <Media item={item} />;
  if (type === "cta") return <Action item={item} />;
  if (type === "reward") return <Reward show={show} item={item} />;
  if (type === "leaderboard") return <Leaders show={show} item={item} />;
  return (
    <>
      <h2 id={`t-${item.id}`} class="hidden">
        {type}
      </h2>
      <p class="quiet">{t("unknown", { type })}</p>
    </>
  );
}

function Media({ item }: { readonly item: Item }) {
  const asset = fieldOf(item.custom_fields, "asset");
  const url = linkOf(asset);
  const caption = textOf(item.custom_fields, "caption");
  const poster = linkOf(fieldOf(item.custom_fields, "poster"));
  const captions = linkOf(fieldOf(item.custom_fields, "captions"));
  const path = url === null ? "" : new URL(url).pathname;
  return (
    <figure>
      <figcaption id={`t-${item.id}`} dir="auto">
        {caption || t("message_info")}
      </figcaption>
      {url === null ? null : /\.(mp4|webm|mov|m4v)$/i.test(path) ? (
        <video
          controls
          preload="none"
          playsInline
          src={url}
          {...(poster !== null && !savesData && { poster })}
          // The browser loads captions of another origin only with its leave.
          {...(captions !== null && { crossOrigin: "anonymous" })}
        >
          {captions !== null && (
            <track kind="captions" src={captions} srcLang={locale.value} label={t("captions")} default />
          )}
        </video>
      ) : /\.(mp3|m4a|ogg|wav)$/i.test(path) ? (
        // biome-ignore lint/a11y/useMediaCaption: the caption beside it is its text
        <audio controls preload="none" src={url} />
      ) : (
        <Picture url={url} text={altOf(item, asset) ?? caption} />
      )}
    </figure>
  );
}

function Action({ item }: { readonly item: Item }) {
  const url = linkOf(fieldOf(item.custom_fields, "url"));
  return (
    <>
      <Title item={item} />
      <Picture {...pictureOf(item, item.custom_fields)} />
      {url !== null && (
        <a class="button main" href={url} target="_blank" rel="noopener noreferrer">
          {new URL(url).host} <span aria-hidden="true">↗</span>
          <span class="hidden">{t("opens")}</span>
        </a>
      )}
    </>
  );
}

function Reward({ show, item }: ItemProps) {
  const { custom_fields: fields } = item;
  const own = show.votes.of(item.id).value;
  const action = textOf(fields, "action");
  const amount = Number(fieldOf(fields, "amount") ?? 0);
  const isOff = !isOpen(item) || own !== null;
  return (
    <>
      <Title item={item} />
      {amount > 0 && <p class="amount">+{number(amount)}</p>}
      {action !== "" && (
        <button
          type="button"
          class="main"
          disabled={isOff}
          onClick={() => show.votes.cast(item.id, { options: [] }, action)}
        >
          {t(own?.state === "counted" || own?.state === "spent" ? "collected" : "collect")}
        </button>
      )}
      {own !== null && own.state !== "counted" && own.state !== "spent" && <VoteLine own={own} />}
    </>
  );
}

/** Time between two looks of all fans of a show, in ms. */
const ownRowMs = 60_000;

function Leaders({ show, item }: ItemProps) {
  const id = boardOf(item);
  const limit = Number(fieldOf(item.custom_fields, "limit") ?? 10);
  const isListed = show.listedBoards.includes(id);
  const board = show.boards.get(id)?.value;
  const userId = show.fan.value?.userId;
  const leaders = (board?.data ?? []).slice(0, limit);
  const around = useOwnRows(show, {
    id,
    leaders: item.state === "current" ? board?.data : undefined,
    limit: 1,
    everyMs: ownRowMs,
  });
  const own = [...(board?.data.slice(limit) ?? []), ...(around?.entries ?? [])];
  return (
    <>
      <div class="head">
        <h2 id={`t-${item.id}`}>{t("board")}</h2>
        {isListed && <a href={`#/board/${encodeURIComponent(id)}`}>{boardName(id)}</a>}
      </div>
      <Rows entries={[...leaders, ...own.filter(entry => entry.userId === userId)]} userId={userId} />
      {board?.data.length === 0 && <p class="quiet">{t("emptyBoard")}</p>}
      {!isListed && <p class="quiet">{t("noBoards")}</p>}
    </>
  );
}

function Group({ show, item }: ItemProps) {
  const children = show.ids.value.filter(id => show.items.get(id)?.value.parent === item.id);
  const layout = String(fieldOf(item.custom_fields, "layout") ?? "rail");
  const at = useSignal(0);
  const isSingle = layout === "sequence" || layout === "carousel";
  const index = Math.min(at.value, Math.max(children.length - 1, 0));
  const shown = isSingle ? children.slice(index, index + 1) : children;
  const step = (by: number, label: ComponentChildren) => (
    <button
      type="button"
      disabled={index + by < 0 || index + by >= children.length}
      onClick={() => (at.value = index + by)}
    >
      {label}
    </button>
  );
  return (
    <section class="group" data-layout={layout} aria-labelledby={`t-${item.id}`} id={`e-${item.id}`}>
      <Title item={item} />
      <div class="children" tabIndex={isSingle ? -1 : 0}>
        {shown.map(id => (
          <Element key={id} show={show} id={id} />
        ))}
      </div>
      {isSingle && children.length > 1 && (
        <div class="steps">
          {step(-1, t("previous"))}
          <span class="quiet">
            {number(index + 1)} / {number(children.length)}
          </span>
          {step(1, t("next"))}
        </div>
      )}
    </section>
  );
}
