/** How values of an entity look. A recognizer sees one trimmed value of bounded length, and says yes or no. */
import { isIPv4, isIPv6 } from "node:net"
import {
  isAadhaar,
  isBsn,
  isCardNumber,
  isCpf,
  isDni,
  isFiscalCode,
  isGermanTaxId,
  isIban,
  isLuhn,
  isNhsNumber,
  isNir,
  isPesel,
  isSsn,
} from "./checksums.ts"
import { plain } from "./column-names.ts"
import type { EntityType } from "./entities.ts"
import { familyNames, givenNames } from "./given-names.ts"
import { cities, streetEndings, streetWords } from "./places.ts"

export interface Recognizer {
  readonly kind: "pattern" | "checksum" | "dictionary"
  readonly matches: (value: string) => boolean
  /** Confidence when every value matches and the name says nothing. 0: values only support a name. */
  readonly alone: number
  /** Share of values that must match to count without a name. */
  readonly shareMin: number
  /** How often a random value of the same shape matches. */
  readonly chance: number
  /** What a value of a column with the right name may look like, when that is more than what `matches`. */
  readonly plausible?: (value: string) => boolean
  /** Whether numbers without a separator are worth a look, as a column of integers has them. */
  readonly digits?: true
  /** Finds the entity inside a longer text. */
  readonly within?: (value: string) => boolean
  /** One text that holds it is enough: nothing else looks like it. */
  readonly withinOnce?: true
  /** Words of a column's name with which values of this look are something else, as `version` for 1.2.3.4. */
  readonly notNamed?: ReadonlySet<string>
}

const named = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** What carries a person's or a town's name without being one. */
const BRANDS = named(
  "company brand make vendor manufacturer product model supplier firm organization organisation label",
)

const EMAIL =
  /^[^\s@<>()",:;[\]\\]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+\p{L}{2,24}$/u
const EMAIL_WITHIN = /(?<![\w.+/:-])(?!git@)[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}(?![\w-]|[/:]\w)/i

/** International with `+` or `00`; North American; or national with a leading zero and groups. Never digits alone. */
const INTERNATIONAL_PHONE = /^(?:\+|00)[1-9][\d\s().\-/]{6,22}\d(?:\s?(?:x|ext\.?)\s?\d{1,6})?$/
const AMERICAN_PHONE =
  /^(?:1[\s.-])?(?:\([2-9]\d{2}\)\s?|[2-9]\d{2}[\s.-])[2-9]\d{2}[\s.-]\d{4}(?:\s?(?:x|ext\.?)\s?\d{1,6})?$/
const NATIONAL_PHONE = /^\(?0[1-9]\d{0,4}\)?(?:[\s/-]\d{2,8}){1,5}$/
const LOOSE_PHONE = /^\+?[\d\s().\-/]{6,24}(?:\s?(?:x|ext\.?)\s?\d{1,6})?$/i

const bare = (value: string): string => value.replaceAll(/[\s.\-/]/g, "").toUpperCase()
const digitCount = (value: string): number => value.replaceAll(/\D/g, "").length

const isPhone = (value: string): boolean => {
  const digits = digitCount(value.replace(/(?:x|ext).*$/i, ""))
  if (digits < 8 || digits > 15) return false
  return INTERNATIONAL_PHONE.test(value) || AMERICAN_PHONE.test(value) || NATIONAL_PHONE.test(value)
}

const PHONE_WITHIN =
  /(?<![\w.])(?:\+[1-9]\d{0,2}[\s.-]?(?:\(\d{1,4}\)[\s.-]?)?\d{2,4}(?:[\s.-]?\d{2,4}){2,4}|\([2-9]\d{2}\)\s?[2-9]\d{2}-\d{4})(?!\w)/

/** Without country code a group of digits is a phone number only where the words before it say so. */
const LOCAL_PHONE_WITHIN =
  /(?<![\w./-])(?:(?:1[\s.-])?[2-9]\d{2}[\s.-][2-9]\d{2}[\s.-]\d{4}|\(?0[1-9]\d{1,4}\)?[\s/-]?\d{3,8}(?:[\s-]\d{2,8}){0,3}|0[1-9](?:[\s.]\d{2}){4}|00[1-9]\d{0,2}[\s-]?\d{2,4}(?:[\s-]?\d{2,4}){2,3})(?![\w-])/g
const PHONE_WORDS =
  /(?:\b(?:tele)?phone|\btel|\bcall(?:ed|ing)?|\bmobile|\bcell|\bfax|\bring|\bwhatsapp|\bsms|\btext|\breach|\bcontact|\bdial|telefon|\bhandy|\bmobil|\brufnummer|\banruf|\bt[eé]l[eé]phone|\btel[eé]fono)\b[^\n]{0,40}$/i
const WORDS_BEFORE_CHARS = 60

const isPhoneWithin = (value: string): boolean =>
  PHONE_WITHIN.test(value) ||
  [...value.matchAll(LOCAL_PHONE_WITHIN)].some(
    ({ 0: found, index }) =>
      digitCount(found) >= 8 && PHONE_WORDS.test(value.slice(Math.max(0, index - WORDS_BEFORE_CHARS), index)),
  )

const CARD = /^\d{4}(?:[ -]?\d{2,7}){2,5}$|^\d{13,19}$/
const isCard = (value: string): boolean => CARD.test(value) && isCardNumber(value.replaceAll(/[ -]/g, ""))
const isCardWithin = (value: string): boolean =>
  [...value.matchAll(/(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])/g)].some(([found]) => isCard(found))

const IBAN_WITHIN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g

const SSN = /^\d{3}-\d{2}-\d{4}$/
const SSN_WITHIN = /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/

const MAC = /^(?:[\da-f]{2}([:-]))(?:[\da-f]{2}\1){4}[\da-f]{2}$|^(?:[\da-f]{4}\.){2}[\da-f]{4}$/i

const UK_POSTCODE = /^[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}$/i
const OTHER_POSTCODE = /^(?:[A-Z]\d[A-Z] \d[A-Z]\d|\d{4} [A-Z]{2}|\d{5}-\d{4}|\d{5}-\d{3})$/i
const LOOSE_POSTCODE = /^(?=.*\d)[A-Z\d][A-Z\d -]{2,9}$/i

const ISO_DATE = /^(\d{4})-\d{2}-\d{2}(?:[ T]00:00.*)?$/
const WRITTEN_DATE =
  /^(?:\d{1,2}[./-]){2}(?:\d{4}|\d{2})$|^(?:19|20)\d{2}(?:\d{4}|\/\d{2}\/\d{2})?$|^\d{1,2} \p{L}{3,10}\.? \d{4}$/u

const isBirthDate = (value: string): boolean => {
  const year = ISO_DATE.exec(value)?.[1]
  return year === undefined ? WRITTEN_DATE.test(value) : Number(year) >= 1900 && Number(year) <= 2030
}

const PASSWORD_HASH =
  /^(?:\$2[abxy]?\$\d\d\$|\$argon2(?:id|i|d)\$|\$scrypt\$|\$pbkdf2|pbkdf2[_:$]|\$[156]\$|\$P\$|\$y\$|\{S?SHA\d{0,3}\}|SCRAM-SHA-|scrypt[:$]|bcrypt)/i
/** Prefixes that makers of keys chose so that leaked ones are found. */
const KNOWN_KEY =
  /(?<![A-Za-z0-9])(?:sk_(?:live|test)_[A-Za-z0-9]{8}|rk_live_|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|xox[abprs]-|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30}|glpat-|sk-[A-Za-z0-9-]{20}|SG\.[\w-]{16}|npm_[A-Za-z0-9]{30}|svc_(?:sk|pk|sa)_)/
const JWT = /^eyJ[\w-]{8,}\.eyJ[\w-]*/
const PEM = /-----BEGIN [A-Z ]*PRIVATE KEY/

const GENDERS: ReadonlySet<string> = new Set(
  `m f male female man woman mann frau herr mr mrs ms mx masculino femenino hombre mujer homme femme maschio femmina
  mannlich weiblich divers diverse nonbinary non-binary other unknown x d w o u mannelijk vrouwelijk vrouw kobieta
  mezczyzna feminino kvinna prefer_not_to_say transgender`.split(/\s+/),
)
const CLEAR_GENDERS =
  /^(?:fe)?male$|^(?:wo)?man$|^masculino$|^fem[ie]nino$|^hombre$|^mujer$|^homme$|^femme$|^mannlich$|^weiblich$/

const ICD10 = /^[A-TV-Z]\d[\dAB](?:\.[\dA-Z]{1,4})?$/
const BLOOD_TYPE = /^(?:A|B|AB|O)\s?(?:[+-]|pos(?:itive)?|neg(?:ative)?)$/i

const words = (value: string): string[] =>
  plain(value)
    .toLowerCase()
    .match(/\p{L}+/gu) ?? []

const NAME_SHAPE = /^\p{L}[\p{L}\p{M}'’.\- ,]{0,60}$/u

const isFullName = (value: string): boolean => {
  if (!NAME_SHAPE.test(value)) return false
  const parts = words(value)
  if (parts.length < 2 || parts.length > 5) return false
  return (
    parts.some(part => givenNames.has(part)) && parts.some(part => familyNames.has(part) || part.length > 2)
  )
}

const isOneOf = (list: ReadonlySet<string>) => (value: string) =>
  NAME_SHAPE.test(value) && words(value).length <= 2 && words(value).some(part => list.has(part))

const isAddress = (value: string): boolean => {
  if (value.length < 6 || !/\d/.test(value) || /[@=<>{}_]|:\/\//.test(value)) return false
  const parts = words(value)
  return parts.length >= 2 && parts.length <= 16
    ? parts.some(part => streetWords.has(part) || streetEndings.test(part))
    : parts.some(part => part.length > 5 && streetEndings.test(part))
}

const isCoordinate = (limit: number) => (value: string) =>
  /^-?\d{1,3}(?:\.\d+)?$/.test(value) && Math.abs(Number(value)) <= limit

const COORDINATES = /^\(?-?\d{1,2}\.\d{3,}, ?-?\d{1,3}\.\d{3,}\)?$|^(?:SRID=\d+;)?POINT ?\(/

const checked = (test: (text: string) => boolean, chance: number, alone = 0.93): Recognizer => ({
  kind: "checksum",
  matches: value => value.length <= 24 && test(bare(value)),
  alone,
  shareMin: 0.7,
  chance,
  digits: true,
})

/** A name alone is believed less when no value looks like this. */
const shape = (matches: (value: string) => boolean): Recognizer => ({
  kind: "pattern",
  matches,
  alone: 0,
  shareMin: 1,
  chance: 1,
  digits: true,
})

const dictionary = (matches: (value: string) => boolean, alone: number, shareMin: number): Recognizer => ({
  kind: "dictionary",
  matches,
  alone,
  shareMin,
  chance: 0.2,
})

const pattern = (
  matches: (value: string) => boolean,
  alone: number,
  more: Partial<Recognizer> = {},
): Recognizer => ({ kind: "pattern", matches, alone, shareMin: 0.5, chance: 0.01, ...more })

const VAT =
  /^(?:ATU\d{8}|DE\d{9}|FR[A-Z\d]{2}\d{9}|ES[A-Z\d]\d{7}[A-Z\d]|IT\d{11}|NL\d{9}B\d{2}|BE[01]\d{9}|PL\d{10}|GB\d{9}|SE\d{12}|DK\d{8}|PT\d{9}|IE\d[A-Z\d]\d{5}[A-Z]{1,2})$/

export const recognizers: Readonly<Partial<Record<EntityType, Recognizer>>> = {
  EMAIL_ADDRESS: pattern(value => EMAIL.test(value), 0.96, {
    within: value => EMAIL_WITHIN.test(value),
    withinOnce: true,
  }),
  PHONE_NUMBER: pattern(isPhone, 0.85, {
    shareMin: 0.6,
    notNamed: named("order invoice sku part serial reference tracking isbn article version"),
    plausible: value => LOOSE_PHONE.test(value) && digitCount(value) >= 6 && digitCount(value) <= 15,
    within: isPhoneWithin,
    withinOnce: true,
  }),
  CREDIT_CARD: { ...checked(isCard, 0.03, 0.95), matches: isCard, shareMin: 0.6, within: isCardWithin },
  IBAN_CODE: {
    ...checked(isIban, 0.01, 0.97),
    matches: value => value.length <= 42 && isIban(bare(value)),
    shareMin: 0.5,
    within: value => [...value.matchAll(IBAN_WITHIN)].some(([found]) => isIban(bare(found))),
  },
  US_SSN: pattern(value => SSN.test(value) && isSsn(bare(value)), 0.85, {
    shareMin: 0.7,
    plausible: value => isSsn(bare(value)),
    within: value => SSN_WITHIN.test(value),
  }),
  DE_TAX_ID: checked(isGermanTaxId, 0.02),
  NL_BSN: checked(isBsn, 0.1, 0.8),
  FR_NIR: checked(isNir, 0.003),
  ES_DNI: checked(isDni, 0.05),
  IT_FISCAL_CODE: checked(isFiscalCode, 0.03),
  PL_PESEL: checked(isPesel, 0.05),
  UK_NHS: checked(isNhsNumber, 0.1, 0.8),
  IN_AADHAAR: checked(isAadhaar, 0.1, 0.88),
  BR_CPF: checked(isCpf, 0.01),
  DATE_OF_BIRTH: shape(isBirthDate),
  IP_ADDRESS: pattern(
    value => isIPv4(value.replace(/\/32$/, "")) || isIPv6(value.replace(/\/128$/, "")),
    0.85,
    {
      shareMin: 0.7,
      notNamed: named("version release build ver oid section revision"),
    },
  ),
  MAC_ADDRESS: pattern(value => MAC.test(value), 0.88, { shareMin: 0.7 }),
  DEVICE_ID: pattern(value => /^\d{15}$/.test(value) && isLuhn(value), 0, {
    plausible: value => value.length >= 8,
  }),
  PASSWORD: pattern(value => PASSWORD_HASH.test(value), 0.95, { plausible: () => true }),
  API_KEY: pattern(value => KNOWN_KEY.test(value), 0.9, { shareMin: 0.3, plausible: () => true }),
  ACCESS_TOKEN: pattern(value => JWT.test(value), 0.88, { plausible: () => true }),
  SECRET: pattern(value => PEM.test(value), 0.95, { shareMin: 0.3, plausible: () => true }),
  GENDER: {
    ...dictionary(value => CLEAR_GENDERS.test(plain(value).toLowerCase()), 0.75, 0.7),
    plausible: value => GENDERS.has(plain(value).toLowerCase()) || /^[0-3]$/.test(value),
  },
  HEALTH: pattern(value => BLOOD_TYPE.test(value) || (ICD10.test(value) && value.includes(".")), 0.75, {
    shareMin: 0.8,
    plausible: () => true,
  }),
  PERSON: {
    ...dictionary(isFullName, 0.78, 0.35),
    notNamed: BRANDS,
    plausible: value => NAME_SHAPE.test(value),
  },
  FIRST_NAME: {
    ...dictionary(isOneOf(givenNames), 0.7, 0.5),
    notNamed: BRANDS,
    plausible: value => NAME_SHAPE.test(value),
  },
  LAST_NAME: {
    ...dictionary(isOneOf(familyNames), 0.66, 0.5),
    notNamed: BRANDS,
    plausible: value => NAME_SHAPE.test(value),
  },
  POSTAL_ADDRESS: pattern(isAddress, 0.8, {
    plausible: value => /\p{L}/u.test(value) && !/^\p{Ll}+$/u.test(value),
  }),
  CITY: {
    ...dictionary(value => cities.has(plain(value).toLowerCase()), 0.6, 0.5),
    plausible: value => NAME_SHAPE.test(value),
  },
  ZIP_CODE: pattern(value => UK_POSTCODE.test(value) || OTHER_POSTCODE.test(value), 0.65, {
    shareMin: 0.8,
    plausible: value => LOOSE_POSTCODE.test(value),
  }),
  LATITUDE: shape(isCoordinate(90)),
  LONGITUDE: shape(isCoordinate(180)),
  GEO_POINT: pattern(value => COORDINATES.test(value), 0.65, { shareMin: 0.8 }),
  TAX_ID: pattern(value => VAT.test(bare(value)), 0.6, {
    shareMin: 0.8,
    plausible: value => digitCount(value) >= 6,
  }),
  PASSPORT: shape(value => /^(?=.*\d)[A-Z\d]{6,12}$/i.test(bare(value))),
  DRIVER_LICENSE: shape(value => /^(?=.*\d)[\p{L}\d -]{3,20}$/u.test(value)),
  NATIONAL_ID: shape(value => digitCount(value) >= 5),
  BANK_ACCOUNT: shape(value => /^(?=.*\d|[A-Z]{8})[A-Z\d -]{5,34}$/i.test(value)),
  USERNAME: shape(value => !/\s/.test(value) || value.length < 30),
}
