/**
 * Tokens name what a module may ask for in its `needs`, and carry the type of what it then gets. The places that define
 * them hold types and tokens alone, so that asking for something loads nothing.
 */
import type { Offer } from "./offer.ts"

/** Keeps the type of what a token stands for; nothing is ever stored there. */
declare const stands: unique symbol

/** Something that exists as soon as the platform starts. */
export interface Token<Service> {
  readonly name: string
  readonly kind: "ready" | "opened" | "offered"
  readonly [stands]?: () => Service
}

/** Something that is opened with the first module that needs it: a port's driver, a service. */
export interface OpenedToken<Service> extends Token<Service> {
  readonly kind: "opened"
}

/** Something that an area provides. It is resolved when it is first used, which loads that area. */
export interface OfferToken<Service> extends Token<Offer<Service>> {
  readonly kind: "offered"
}

export const token = <Service>(name: string): Token<Service> => ({ name, kind: "ready" })
export const openedToken = <Service>(name: string): OpenedToken<Service> => ({ name, kind: "opened" })
export const offerToken = <Service>(name: string): OfferToken<Service> => ({ name, kind: "offered" })

/** What a module asks for, by the name under which it gets it. */
export type Needs = Readonly<Record<string, Token<unknown>>>

export type ServiceOf<Asked> = Asked extends Token<infer Service> ? Service : never

/** What a module with these needs is given. */
export type ServicesOf<Asked extends Needs> = { readonly [Name in keyof Asked]: ServiceOf<Asked[Name]> }

/** The part of it that exists before anything is opened. */
export type AtHand<Asked extends Needs> = {
  readonly [Name in keyof Asked as Asked[Name] extends OpenedToken<unknown> ? never : Name]: ServiceOf<
    Asked[Name]
  >
}

/** A token with what it stands for. */
export interface Supply {
  readonly token: Token<unknown>
  readonly service: unknown
}

export const supply = <Service>(of: Token<Service>, service: Service): Supply => ({ token: of, service })

/** What an area provides, among what its `start` returns. */
export interface Provided {
  readonly token: OfferToken<unknown>
  readonly service: unknown
}

export const provide = <Service>(of: OfferToken<Service>, service: Service): Provided => ({
  token: of,
  service,
})
