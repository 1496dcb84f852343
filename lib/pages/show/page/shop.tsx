/** What points buy. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { linkOf, Picture } from "./content.tsx";
import type { Show } from "./show.ts";
import { number, t } from "./texts.ts";

type Product = Awaited<ReturnType<Show["client"]["audience"]["listAudienceProducts"]>>[number];

const reasons = ["insufficient_balance", "out_of_stock", "limit_reached", "not_available"] as const;

/** Returns products with one that was refused, as what the list said of it is old. */
function refused(
  products: readonly Product[],
  productId: string,
  reason: Product["reasons"][number],
): readonly Product[] {
  return products.map(each =>
    each.productId === productId ? { ...each, canRedeem: false, reasons: [reason] } : each,
  );
}

export type UserCoupon = Awaited<ReturnType<Show["client"]["loyalty"]["getCoupon"]>>;

/** What a coupon is for, and its code as soon as there is one. */
export function Coupon({ coupon: { title, link, coupon_code: code } }: { readonly coupon: UserCoupon }) {
  const address = linkOf(link);
  return (
    <p class="row">
      <span dir="auto">
        {address === null || link === "" ? (
          title
        ) : (
          <a href={address} target="_blank" rel="noopener noreferrer">
            {title}
          </a>
        )}
      </span>
      <strong dir="ltr">{code || "–"}</strong>
    </p>
  );
}

export function Shop({ show }: { readonly show: Show; readonly rest: string }) {
  const products = useSignal<readonly Product[] | null>(null);
  const note = useSignal("");
  const coupon = useSignal<UserCoupon | null>(null);
  const fan = show.fan.value;
  const isLost = show.lost.value !== null;
  useEffect(() => {
    if (fan === null) return;
    show.client.audience.listAudienceProducts().then(
      found => {
        products.value = found;
      },
      () => {},
    );
  }, [fan, show.points.value]);
  async function redeem({ productId, title, prices }: Product, currency: string): Promise<void> {
    coupon.value = null;
    try {
      const body = { quantity: 1, ...(prices.length > 1 && { currency }) };
      const { status, fulfilment } = await show.client.audience.redeemAudienceProduct({ productId, body });
      note.value = t(status === "completed" ? "redeemed" : "pending", { title });
      coupon.value = fulfilment.coupon;
      await show.acted();
    } catch (error) {
      const code = error instanceof GrandstandError ? error.code : "";
      const known = reasons.find(reason => reason === code);
      if (known !== undefined) products.value = refused(products.value ?? [], productId, known);
      note.value =
        known === undefined ? t("failed", { reason: error instanceof Error ? error.message : "" }) : t(known);
    }
    show.say([note.value, coupon.value?.coupon_code ?? ""].join(" ").trim());
  }
  if (fan === null) return <p class="card empty">{t("noHistory")}</p>;
  if (products.value === null) return <div class="card skeleton" aria-busy="true" />;
  return (
    <section class="shop">
      <h2>{t("shop")}</h2>
      {note.value !== "" && (
        <div class="card">
          <p>{note}</p>
          {coupon.value !== null && <Coupon coupon={coupon.value} />}
        </div>
      )}
      {products.value.length === 0 && <p class="card empty">{t("noProducts")}</p>}
      <ul>
        {products.value.map(product => (
          <ProductCard
            key={product.productId}
            product={product}
            isLost={isLost}
            onRedeem={currency => void redeem(product, currency)}
          />
        ))}
      </ul>
    </section>
  );
}

interface ProductProps {
  readonly product: Product;
  /** True while there is no connection. */
  readonly isLost: boolean;
  readonly onRedeem: (currency: string) => void;
}

function ProductCard({ product, isLost, onRedeem }: ProductProps) {
  return (
    <li class="card product">
      <Picture url={product.media} />
      <h3 dir="auto">{product.title}</h3>
      {product.description !== "" && <p dir="auto">{product.description}</p>}
      {product.stock.type === "limited" && (
        <p class="quiet">{t("soldLeft", { count: product.stock.available })}</p>
      )}
      {product.prices.map(({ currency, amount }) => (
        <button
          key={currency}
          type="button"
          class="main"
          aria-disabled={isLost || !product.canRedeem}
          onClick={() => !isLost && product.canRedeem && onRedeem(currency)}
        >
          {t("redeem")} · {number(amount)}
        </button>
      ))}
      {isLost && <p class="quiet">{t("readOnly")}</p>}
      {product.reasons.map(reason => (
        <p key={reason} class="quiet">
          {t(reasons.find(each => each === reason) ?? "not_available")}
        </p>
      ))}
    </li>
  );
}
