/** What kinds of personal data there are. `direct`: such a value alone can tell who the person is. */

interface Entity {
  readonly category: string
  readonly direct: boolean
}

const entity = (category: string, direct: boolean): Entity => ({ category, direct })

export const entities = {
  EMAIL_ADDRESS: entity("contact", true),
  PHONE_NUMBER: entity("contact", true),
  PERSON: entity("name", true),
  FIRST_NAME: entity("name", false),
  LAST_NAME: entity("name", true),
  USERNAME: entity("account", true),
  CREDIT_CARD: entity("financial", true),
  IBAN_CODE: entity("financial", true),
  BANK_ACCOUNT: entity("financial", true),
  US_SSN: entity("government_id", true),
  DE_TAX_ID: entity("government_id", true),
  NL_BSN: entity("government_id", true),
  FR_NIR: entity("government_id", true),
  ES_DNI: entity("government_id", true),
  IT_FISCAL_CODE: entity("government_id", true),
  PL_PESEL: entity("government_id", true),
  UK_NHS: entity("government_id", true),
  IN_AADHAAR: entity("government_id", true),
  BR_CPF: entity("government_id", true),
  NATIONAL_ID: entity("government_id", true),
  PASSPORT: entity("government_id", true),
  DRIVER_LICENSE: entity("government_id", true),
  TAX_ID: entity("government_id", true),
  DATE_OF_BIRTH: entity("demographic", false),
  GENDER: entity("demographic", false),
  NRP: entity("demographic", false),
  HEALTH: entity("health", false),
  POSTAL_ADDRESS: entity("location", true),
  CITY: entity("location", false),
  ZIP_CODE: entity("location", false),
  LATITUDE: entity("location", false),
  LONGITUDE: entity("location", false),
  GEO_POINT: entity("location", false),
  IP_ADDRESS: entity("network", false),
  MAC_ADDRESS: entity("network", false),
  DEVICE_ID: entity("device", false),
  COOKIE_ID: entity("device", false),
  PASSWORD: entity("credential", false),
  SECRET: entity("credential", false),
  API_KEY: entity("credential", false),
  ACCESS_TOKEN: entity("credential", false),
} as const satisfies Readonly<Record<string, Entity>>

export type EntityType = keyof typeof entities

export const entityTypes = Object.keys(entities) as EntityType[]

/** What matters of a column's type. */
export type TypeFamily =
  | "text"
  | "integer"
  | "decimal"
  | "date"
  | "timestamp"
  | "net"
  | "mac"
  | "uuid"
  | "json"
  | "bytes"
  | "enum"
  | "point"
  | "other"
