/** Fields of custom domains. */
import { T } from "./dsl.ts"
import { Dictionary, Id, Nullable, OneOf, Time } from "./types.ts"

export const DOMAIN_TARGETS = ["run_service", "deployment", "function", "load_balancer", "bucket"] as const
const SITE_HEADERS_MAX = 20

const Key = (description: string) =>
  T.String({
    minLength: 1,
    maxLength: 1024,
    pattern: "^[^/\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$",
    description,
  })

/** How a bucket is shown as a site. */
const siteFields = {
  index_document: Key("Object of a path that ends with `/`, as `index.html`"),
  error_document: Nullable(Key("Object that is sent with 404, as `404.html`"), {
    description: "Object that is sent with 404",
  }),
  spa: T.Boolean({ description: "Paths without an object get the index document of the bucket, with 200" }),
  headers: Dictionary(
    T.String({ pattern: "^[A-Za-z0-9-]{1,64}$" }),
    T.String({ maxLength: 1024, pattern: "^[\\x20-\\x7e]*$" }),
    { maxProperties: SITE_HEADERS_MAX, description: "Headers that are added to every answer" },
  ),
}

export const TargetInput = T.Object(
  {
    type: OneOf(DOMAIN_TARGETS, { description: "What answers" }),
    id: T.String({
      minLength: 1,
      maxLength: 64,
      description: "Its id, in the project of the domain; the name of a bucket",
    }),
    site: T.Optional(
      T.Partial(T.Object(siteFields), { description: "How a bucket is shown; for buckets alone" }),
    ),
  },
  { description: "Where requests for the domain go" },
)

const Target = T.Object({
  type: OneOf(DOMAIN_TARGETS, { description: "What answers" }),
  id: T.String({ description: "Its id; the name of a bucket" }),
  site: Nullable(T.Object(siteFields), { description: "How a bucket is shown; null for other targets" }),
})

const DnsRecord = T.Object({
  type: OneOf(["TXT", "CNAME"], { description: "Type of the record" }),
  name: T.String({ description: "Name of the record, in full" }),
  value: T.String({ description: "What it must hold" }),
  purpose: OneOf(["ownership", "ownership_and_routing"], {
    description:
      "`ownership`: proves that the domain is yours; `ownership_and_routing`: leads requests here as well. One record is enough.",
  }),
  found: T.Boolean({ description: "Whether it was there at the last check" }),
})

export const CERTIFICATE_SOURCES = ["acme", "upload"] as const

const Certificate = T.Object(
  {
    source: OneOf(CERTIFICATE_SOURCES, {
      description: "`acme`: issued and renewed by the authority of the installation; `upload`: your own",
    }),
    status: OneOf(["pending", "issued", "failed"], {
      description: "`failed`: there is none, and it is tried again; a renewal that failed leaves it `issued`",
    }),
    not_after: Nullable(Time, { description: "When it ends" }),
    next_attempt_at: Nullable(Time, { description: "When it is issued or renewed next; null for your own" }),
    last_error: Nullable(T.String(), { description: "Why the last attempt failed" }),
  },
  { description: "What HTTPS is answered with" },
)

export const certificateInput = {
  source: OneOf(CERTIFICATE_SOURCES, {
    description: "`acme`: have one issued, once the domain is active; `upload`: take your own",
  }),
  certificate: T.Optional(
    T.String({
      maxLength: 65_536,
      description: "The certificate, and after it those that signed it, PEM; for `upload`",
    }),
  ),
  private_key: T.Optional(
    T.String({
      maxLength: 16_384,
      description: "Its private key without a passphrase, PEM; kept encrypted and never shown; for `upload`",
    }),
  ),
}

export const Domain = T.Object({
  id: Id,
  project_id: Id,
  domain: T.String({ description: "The host name, in lower case" }),
  status: OneOf(["pending_verification", "verifying", "active", "failed"], {
    description:
      "`pending_verification`: no check yet; `verifying`: it is checked on by itself; `active`: it is served; " +
      "`failed`: no record was there for three days, or another project proved the domain since",
  }),
  records: T.Array(DnsRecord, { description: "DNS records of which one proves the ownership" }),
  target: Nullable(Target, { description: "Where requests go; null where nothing was chosen" }),
  force_https: T.Boolean({ description: "Requests over plain HTTP are redirected" }),
  hsts: T.Boolean({ description: "Browsers are told to use HTTPS alone for a year" }),
  certificate: Nullable(Certificate, { description: "Null where HTTPS is not answered for the domain" }),
  last_error: Nullable(T.String(), { description: "Why the last check failed" }),
  last_checked_at: Nullable(Time, { description: "Time of the last check" }),
  verified_at: Nullable(Time, { description: "Since when it is served" }),
  created_at: Time,
  updated_at: Time,
})

export const domainSwitches = {
  force_https: T.Boolean({ description: "Redirect requests over plain HTTP; false by default" }),
  hsts: T.Boolean({
    description: "Send `Strict-Transport-Security` with answers over HTTPS; false by default",
  }),
}
