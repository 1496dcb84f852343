/**
 * Products: listing what is to be had, and redeeming it.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import { type AnyRoute, envelope, idempotencyKeyOf, looseRoute } from "../../http/mod.ts";
import { FulfilmentSchema } from "../../loyalty/views/change_payload.ts";
import { isoTime } from "../_times.ts";
import type { BoughtProduct, OfferedProduct } from "../products.ts";
import type { AudienceContext } from "./context.ts";
import { ProductsSchema } from "./schema.ts";

/** Most of a product that one request redeems. */
export const redeemedQuantityMax = 100;
/** Most entries of a redemption's metadata. */
export const metadataEntriesMax = 20;
/** Longest name or text in a redemption's metadata, in characters. */
export const metadataTextMax = 256;

const text = v.pipe(v.string(), v.maxLength(metadataTextMax));
const metadataObject = v.pipe(
  v.record(text, v.union([text, v.pipe(v.number(), v.finite()), v.boolean()])),
  v.maxEntries(metadataEntriesMax),
);

/** A record schema by itself takes a list for an object, and passes over names that objects inherit. */
function metadataFor(input: unknown): typeof metadataObject | typeof noMetadata {
  if (typeof input !== "object" || input === null) return metadataObject;
  const isRefused =
    Array.isArray(input) || ["constructor", "prototype"].some(name => Object.hasOwn(input, name));
  return isRefused ? noMetadata : metadataObject;
}

const noMetadata: v.GenericSchema<never, v.InferOutput<typeof metadataObject>> = v.never(
  "Expected an object of named properties",
);

const RedeemObject = v.strictObject({
  currency: v.exactOptional(text),
  quantity: v.optional(
    v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(redeemedQuantityMax)),
    1,
  ),
  metadata: v.exactOptional(v.lazy(metadataFor)),
});
type Redeem = v.InferOutput<typeof RedeemObject>;
const RedeemBody: v.OptionalSchema<v.GenericSchema<unknown, Redeem>, { readonly quantity: 1 }> = v.optional(
  v.lazy(input => (Array.isArray(input) ? v.never("Expected an object") : RedeemObject)),
  { quantity: 1 },
);
const RedemptionSchema = v.object({
  message: v.string(),
  data: v.object({
    redemptionId: v.string(),
    productId: v.string(),
    quantity: v.number(),
    cost: v.object({ currency: v.string(), amount: v.number() }),
    status: v.string(),
    transactionId: v.nullable(v.string()),
    fulfilment: FulfilmentSchema,
    balances: v.record(v.string(), v.number()),
    createdAt: v.string(),
  }),
});

/** Builds the routes of products. */
export function productRoutes({ guards, loyalty, random }: AudienceContext): readonly AnyRoute[] {
  return [
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/products",
      operation: "listAudienceProducts",
      summary: "The products that are in stock and available, and whether the user may have them",
      auth: guards.publicAudience("audience:read"),
      responses: { 200: { description: "All of them, on one page", schema: ProductsSchema } },
      handle: async ({ principal }) => {
        const offered = await loyalty.products.list(principal.member);
        const data = offered.map(productDocument);
        return { status: 200, json: { message: "OK", data, lastEvaluatedKey: null } };
      },
    }),
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/products/:productId/redeem",
      operation: "redeemAudienceProduct",
      summary: "Buy a product with what the user has earned, once under an idempotency key",
      auth: guards.publicAudience("audience:write"),
      params: v.object({ productId: v.string() }),
      body: { schema: RedeemBody, described: RedeemObject },
      responses: { 201: { description: "The redemption", schema: RedemptionSchema } },
      errors: [
        "not_found",
        "insufficient_balance",
        "out_of_stock",
        "limit_reached",
        "not_available",
        "conflict",
        "busy",
      ],
      handle: async ({ principal, params, body, request }) => {
        const key = idempotencyKeyOf(request) ?? uuid(random);
        const order = { ...body, key, productId: params.productId };
        return envelope(redemptionDocument(await loyalty.products.redeem(principal.member, order)), {
          status: 201,
        });
      },
    }),
  ];
}

function productDocument({
  id,
  sku,
  limits,
  availableFrom,
  availableTo,
  ...product
}: OfferedProduct): unknown {
  const { title, description, media, category, prices, stock, fulfilment, canRedeem, reasons } = product;
  return {
    productId: id,
    title,
    description,
    media,
    category,
    sku: sku ?? null,
    prices,
    stock,
    limits: limits === undefined ? null : { perUser: limits.perUser, window: limits.window ?? null },
    availableFrom: availableFrom === 0 ? null : isoTime(availableFrom * 1_000),
    availableTo: availableTo === 0 ? null : isoTime(availableTo * 1_000),
    fulfilment,
    canRedeem,
    reasons,
  };
}

function redemptionDocument({ id, createdAt, ...redemption }: BoughtProduct): unknown {
  const { productId, quantity, cost, status, transactionId, fulfilment, balances } = redemption;
  return {
    redemptionId: id,
    productId,
    quantity,
    cost,
    status,
    transactionId,
    fulfilment,
    balances,
    createdAt: isoTime(createdAt),
  };
}
