/**
 * Tables of made-up people and things, each column labelled with what it holds. Names of people, streets and towns are
 * partly ones that the detector's own lists lack, and a third of the personal columns have names that say nothing.
 */
import type { EntityType } from "../pii/entities.ts"

export interface LabelledColumn {
  readonly name: string
  readonly type: string
  /** Null: nothing personal. */
  readonly label: EntityType | null
  readonly value: (row: number) => unknown
}

export interface LabelledTable {
  readonly name: string
  readonly columns: readonly LabelledColumn[]
}

/** Mulberry32: small, and the same on every machine. */
const random = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const given =
  "Anna Piotr Zsófia Thandiwe Jürgen Marie Oluwaseun Carlos Ingrid Tiago Nguyet Sarah Bogdan Aoife Luca Xiomara David Fatima Gudrun Siobhan Mateusz Emma Kwame Ravi Élodie Tariq Helga Juan Noémie Peter".split(
    " ",
  )
const family =
  "Kowalski Müller Okafor García Abernathy Rossi Szabó Smith Dlamini Fitzgerald Lindqvist Pereira Haddad Nguyen Vanderbilt Dubois Petrov Oyelaran Jansen Schäfer Brown Quispe Martínez Chatterjee Johansson Ó'Brien Tremblay Weber Castellanos Jones".split(
    " ",
  )
const towns =
  "Berlin,Lyon,Springfield,Gdańsk,Little Rock,Leeds,Utrecht,Bad Tölz,Madrid,Porto,Kraków,Chicago,Nowhere,Bath,Siena,Paris,Austin,Graz,Oslo,Cork".split(
    ",",
  )
const streets =
  "Oak Street %,% Maple Ave,Hauptstraße %,rue des Lilas %,Calle Mayor %,Via Roma %,Kerkstraat %,ul. Długa %,% High Street,Lindenweg %,% Elm Rd Apt 4,Am Markt %,PO Box %,Storgatan %".split(
    ",",
  )
const goods =
  "Walnut Desk,Copper Kettle,LED Lamp 40W,Garden Hose,USB-C Cable,Rain Jacket,Espresso Machine,Trail Shoes".split(
    ",",
  )
const sentences = [
  "Shipment left the warehouse late.",
  "Please check the invoice again before Friday.",
  "The blue model is out of stock until spring.",
  "Works as described, packaging was damaged.",
]

export const labelledTables = (
  seed: number,
  checks: Readonly<
    Record<"card" | "iban" | "bsn" | "pesel" | "cpf" | "nhs" | "aadhaar" | "taxId", (text: string) => boolean>
  >,
): LabelledTable[] => {
  const next = random(seed)
  const integer = (below: number) => Math.floor(next() * below)
  const pick = <Item>(items: readonly Item[]): Item => items[integer(items.length)] as Item
  const digits = (count: number) => Array.from({ length: count }, () => integer(10)).join("")
  const hex = (count: number) => Array.from({ length: count }, () => integer(16).toString(16)).join("")
  const valid = (check: (text: string) => boolean, make: () => string): string => {
    let text = make()
    while (!check(text)) text = make()
    return text
  }
  const ascii = (text: string) =>
    text
      .normalize("NFD")
      .replaceAll(/[^A-Za-z]/g, "")
      .toLowerCase()
  const email = () =>
    `${ascii(pick(given))}.${ascii(pick(family))}${integer(99)}@example.${pick(["com", "org", "de"])}`
  const phone = () =>
    pick([
      () => `+49 30 ${digits(7)}`,
      () => `(${2 + integer(8)}${digits(2)}) ${2 + integer(8)}${digits(2)}-${digits(4)}`,
      () => `+1${2 + integer(8)}${digits(2)}${2 + integer(8)}${digits(6)}`,
      () => `0${1 + integer(8)}${digits(2)}/${digits(6)}`,
      () => `+33 6 ${digits(2)} ${digits(2)} ${digits(2)} ${digits(2)}`,
    ])()
  const person = () => `${pick(given)} ${pick(family)}`
  const address = () => pick(streets).replace("%", String(1 + integer(180)))
  const date = (from: number, years: number) =>
    `${from + integer(years)}-${String(1 + integer(12)).padStart(2, "0")}-${String(1 + integer(28)).padStart(2, "0")}`
  const card = () => valid(checks.card, () => `${pick(["4", "51", "55", "2221"])}${digits(15)}`.slice(0, 16))
  const iban = () => valid(checks.iban, () => `${pick(["DE", "DE"])}${digits(20)}`)
  const ip = () => `${1 + integer(9)}.${integer(255)}.${integer(255)}.${1 + integer(254)}`
  const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
  const ssn = () =>
    `${1 + integer(5)}${1 + integer(9)}${integer(10)}-${1 + integer(9)}${integer(10)}-${1 + integer(9)}${digits(3)}`

  const column = (
    name: string,
    label: EntityType | null,
    value: (row: number) => unknown,
    type = "text",
  ) => ({
    name,
    type,
    label,
    value,
  })
  const no = (name: string, value: (row: number) => unknown, type = "text") => column(name, null, value, type)

  const clear: LabelledTable[] = [
    {
      name: "customers",
      columns: [
        no("id", row => row, "bigint"),
        column("first_name", "FIRST_NAME", () => pick(given)),
        column("LastName", "LAST_NAME", () => pick(family)),
        column("eMailAddr", "EMAIL_ADDRESS", email),
        column("phoneNo", "PHONE_NUMBER", phone),
        column("street_1", "POSTAL_ADDRESS", address),
        column("city", "CITY", () => pick(towns)),
        column("postcode", "ZIP_CODE", () => digits(5)),
        column("dob", "DATE_OF_BIRTH", () => date(1940, 65), "date"),
        column("sex", "GENDER", () => pick(["m", "f", "x"])),
        no("email_verified", () => next() > 0.5, "boolean"),
        no("phone_type", () => pick(["mobile", "home"])),
        no("created_at", () => `${date(2020, 5)}T10:00:00Z`, "timestamptz"),
        no("password_changed_at", () => date(2020, 5), "date"),
        no("address_id", () => integer(9999), "int"),
        no("loyalty_points", () => integer(9999), "int"),
      ],
    },
    {
      name: "mitarbeiter",
      columns: [
        column("Vorname", "FIRST_NAME", () => pick(given)),
        column("nachname", "LAST_NAME", () => pick(family)),
        column("geburtsdatum", "DATE_OF_BIRTH", () => date(1950, 50)),
        column("telefon", "PHONE_NUMBER", phone),
        column("anschrift", "POSTAL_ADDRESS", address),
        column("plz", "ZIP_CODE", () => digits(5)),
        column("steuer_id", "DE_TAX_ID", () => valid(checks.taxId, () => digits(11))),
        column("iban", "IBAN_CODE", iban),
        no("abteilung", () => pick(["Einkauf", "Vertrieb", "Lager"])),
        no("kostenstelle", () => digits(6)),
      ],
    },
    {
      name: "users",
      columns: [
        column("name", "PERSON", person),
        column("login", "USERNAME", () => `${ascii(pick(family))}${integer(99)}`),
        column("passwd", "PASSWORD", () => `$2b$12$${hex(53)}`),
        column("last_ip", "IP_ADDRESS", ip, "inet"),
        column("api_key", "API_KEY", () => hex(40)),
        column("reset_token", "ACCESS_TOKEN", () => hex(32)),
        column("deviceId", "DEVICE_ID", uuid, "uuid"),
        no("login_count", () => integer(500), "int"),
        no("token_limit", () => integer(9000), "int"),
        no("role_name", () => pick(["admin", "editor"])),
        no("etag", () => hex(32)),
      ],
    },
    {
      name: "patients",
      columns: [
        column("patient_name", "PERSON", person),
        column("diagnosis", "HEALTH", () => `${pick(["E", "J", "K"])}${digits(2)}.${integer(9)}`),
        column("nhs_no", "UK_NHS", () => valid(checks.nhs, () => digits(10))),
        column("bloodGroup", "HEALTH", () => pick(["A+", "O-", "AB+"])),
        no("ward", () => pick(["North", "East"])),
        no("bed_number", () => integer(80), "int"),
      ],
    },
    {
      name: "payments",
      columns: [
        column("card_number", "CREDIT_CARD", card),
        column("cardholder", "PERSON", person),
        column("payer_ssn", "US_SSN", () => ssn().replaceAll("-", "")),
        no("card_type", () => pick(["visa", "mastercard"])),
        no("card_last4", () => digits(4)),
        no("amount", () => (integer(99999) / 100).toFixed(2), "numeric"),
        no("currency", () => pick(["EUR", "USD"])),
        no("reference", () => `INV-${digits(8)}`),
      ],
    },
  ]
  const hidden: [EntityType, (row: number) => unknown, string?][] = [
    ["EMAIL_ADDRESS", email],
    ["PHONE_NUMBER", phone],
    ["PERSON", person],
    ["FIRST_NAME", () => pick(given)],
    ["LAST_NAME", () => pick(family)],
    ["CREDIT_CARD", card],
    ["CREDIT_CARD", () => card().replaceAll(/(\d{4})(?=\d)/g, "$1 ")],
    ["CREDIT_CARD", card, "bigint"],
    ["IBAN_CODE", () => iban().replaceAll(/(.{4})(?=.)/g, "$1 ")],
    ["US_SSN", ssn],
    ["NL_BSN", () => valid(checks.bsn, () => digits(9))],
    [
      "PL_PESEL",
      () => valid(checks.pesel, () => `${digits(2)}0${1 + integer(9)}${1 + integer(2)}${digits(6)}`),
    ],
    ["BR_CPF", () => valid(checks.cpf, () => digits(11))],
    ["IN_AADHAAR", () => valid(checks.aadhaar, () => `${2 + integer(8)}${digits(11)}`)],
    ["IP_ADDRESS", ip],
    ["MAC_ADDRESS", () => Array.from({ length: 6 }, () => hex(2)).join(":")],
    ["POSTAL_ADDRESS", address],
    ["CITY", () => pick(towns)],
    ["PASSWORD", () => `$argon2id$v=19$m=65536$${hex(40)}`],
    ["API_KEY", () => `ghp_${hex(36)}`],
    ["GENDER", () => pick(["male", "female"])],
    ["EMAIL_ADDRESS", () => [email(), email()], "text[]"],
    ["EMAIL_ADDRESS", () => ({ contact: email(), plan: "gold" }), "jsonb"],
    ["EMAIL_ADDRESS", row => (row % 5 === 0 ? `Please write to ${email()} about it.` : pick(sentences))],
  ]
  const harmless: [string, (row: number) => unknown, string?][] = [
    ["order_number", row => 4_000_000_000_000_000 + row * 7, "bigint"],
    ["order_no", () => digits(10)],
    ["tracking_number", () => digits(16)],
    ["sku", () => `${pick(["AB", "CD"])}-${digits(3)}-${digits(2)}-${digits(4)}`],
    ["ean13", () => digits(13)],
    ["isbn", () => `978-${digits(1)}-${digits(4)}-${digits(4)}-${integer(10)}`],
    ["epoch_ms", row => 1_700_000_000_000 + row * 86_399, "bigint"],
    ["epoch_us", row => 1_700_000_000_000_000 + row * 86_399_123, "bigint"],
    ["snowflake", row => String(1_150_000_000_000_000_000n + BigInt(row) * 4_194_304_123n)],
    ["timestamps", () => `${date(2020, 5)} 10:11:12`],
    ["day", () => date(2020, 5)],
    ["uid", uuid],
    ["digest", () => hex(64)],
    ["md5", () => hex(32)],
    ["price", () => (integer(999_999) / 100).toFixed(2), "numeric"],
    ["price_text", () => `${integer(999)},${digits(2)} €`],
    ["version", () => `${integer(9)}.${integer(20)}.${integer(20)}.${integer(9)}`],
    ["filename", () => `report-${digits(4)}.pdf`],
    ["hostname", () => `db-${integer(40)}.internal`],
    ["product_name", () => pick(goods)],
    ["name", () => pick(goods)],
    ["title", () => pick(sentences)],
    ["description", () => `${pick(sentences)} ${pick(sentences)}`],
    ["size", () => pick(["S", "M", "L", "XL"])],
    ["status", () => pick(["new", "paid", "sent"])],
    ["country_code", () => pick(["DE", "US", "FR"])],
    ["language", () => pick(["en", "de"])],
    ["latency_ms", () => integer(900), "int"],
    ["url", () => `https://example.com/p/${digits(9)}`],
    ["settings", () => ({ theme: "dark", page_size: 50, updated: date(2022, 3) }), "jsonb"],
    ["labels", () => [pick(["red", "new"]), "sale"], "text[]"],
    ["random_id", () => integer(2 ** 31), "bigint"],
    ["big_id", () => digits(11)],
    ["twelve", () => digits(12)],
    ["nine", () => digits(9)],
    ["color", () => `#${hex(6)}`],
    ["email_template", () => `mail-${integer(9)}`],
    ["token_count", () => integer(4000), "int"],
    ["iban_valid", () => next() > 0.2, "boolean"],
    ["ip_count", () => integer(90), "int"],
    ["coupon", () => hex(8).toUpperCase()],
    ["measure", () => (next() * 100).toFixed(5), "numeric"],
    ["opening_hours", () => "09:00-17:30"],
    ["category_name", () => pick(["Garden", "Kitchen"])],
    ["percent", () => `${integer(100)}%`],
  ]
  return [
    ...clear,
    {
      name: "import_7",
      columns: hidden.map(([label, value, type], index) => column(`f${index}`, label, value, type)),
    },
    { name: "catalogue", columns: harmless.map(([name, value, type]) => no(name, value, type)) },
    // The same things where not even the name says that they are harmless.
    { name: "import_8", columns: harmless.map(([, value, type], index) => no(`f${index}`, value, type)) },
  ]
}
