/** The fields of generated documents. */
import { T } from "./dsl.ts"
import { Dictionary, described, eitherOr, exactlyOne, Id, Nullable, OneOf, Time } from "./types.ts"

export const DOCUMENT_FORMATS = ["docx", "pdf", "pptx", "xlsx", "html", "md", "txt", "csv"] as const
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number]

/** Largest number per project. */
export const DOCUMENTS_MAX = 10_000
export const DOCUMENT_VERSIONS_MAX = 200
/** Over all versions: each is made by doing all of them again. */
export const DOCUMENT_EDITS_MAX = 1_000
export const DOCUMENT_CHARACTERS_MAX = 262_144
export const DOCUMENT_DATA_BYTES_MAX = 262_144
export const DOCUMENT_FILE_BYTES_MAX = 16 * 1024 * 1024

const TITLE_LENGTH_MAX = 200
const EDITS_PER_CALL_MAX = 100

const Format = OneOf(DOCUMENT_FORMATS, { description: "Format of the file" })

const Title = T.String({ minLength: 1, maxLength: TITLE_LENGTH_MAX, pattern: "^[^\\u0000-\\u001f\\u007f]+$" })

const Text = T.String({ minLength: 1, maxLength: DOCUMENT_CHARACTERS_MAX })

const Data = Dictionary(T.String({ minLength: 1, maxLength: 64 }), T.Unknown(), {
  maxProperties: 500,
  description: "Values of the template's variables, at most 256 KiB as JSON",
})

export const DocumentStyle = T.Object(
  {
    font: T.Optional(OneOf(["sans", "serif", "mono"], { description: "`sans` when left out" })),
    font_size: T.Optional(
      T.Integer({ minimum: 8, maximum: 24, description: "Points of plain text; 11 when left out" }),
    ),
    accent: T.Optional(
      T.String({ pattern: "^#[0-9a-fA-F]{6}$", description: "Colour of headings, as `#1f4e79`" }),
    ),
    page_size: T.Optional(OneOf(["A4", "Letter"], { description: "`A4` when left out" })),
    orientation: T.Optional(
      OneOf(["portrait", "landscape"], { description: "Of pages, not of slides; `portrait` when left out" }),
    ),
  },
  { description: "How it looks where the format has looks" },
)

const source = {
  title: T.Optional(described(Title, "Of the file and its properties; the first heading when left out")),
  content: T.Optional(
    described(
      Text,
      "Markdown as GitHub writes it: headings, lists, tables, code, quotes, links. HTML is shown as text, and images become links",
    ),
  ),
  template: T.Optional(
    described(
      Text,
      "Id of a template, or a template of your own: Markdown with Liquid. Values are inserted as text; the filter `raw` " +
        "inserts Markdown",
    ),
  ),
  data: T.Optional(Data),
  prompt: T.Optional(
    T.String({ minLength: 1, maxLength: 20_000, description: "What a language model is to write" }),
  ),
  style: T.Optional(DocumentStyle),
}

const oneSource = eitherOr(exactlyOne("content", "template", "prompt"))

export const DocumentRequest = T.Object({ format: Format, ...source }, oneSource)
export const DocumentPreviewRequest = T.Object(source, oneSource)

export const EDIT_OPERATIONS = [
  "replace",
  "insert_before",
  "insert_after",
  "delete",
  "find_replace",
  "set_data",
  "restyle",
] as const

export const DocumentEdit = T.Object({
  op: OneOf(EDIT_OPERATIONS, {
    description:
      "`replace`, `insert_before`, `insert_after`, `delete` act on the `target`; `find_replace` puts `text` in place of each `find`; " +
      "`set_data` fills the template again, with these values over the earlier ones; `restyle` takes the fields of `style` as `data`",
  }),
  target: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 500,
      description:
        "A heading's text, which stands for its whole section, or `#3` for the third block. For `find_replace` where to look; " +
        "everywhere when left out",
    }),
  ),
  text: T.Optional(
    T.String({ maxLength: DOCUMENT_CHARACTERS_MAX, description: "Markdown; plain text for `find_replace`" }),
  ),
  find: T.Optional(T.String({ minLength: 1, maxLength: 1_000, description: "Exact text" })),
  data: T.Optional(Data),
})

export const DocumentRevision = T.Object(
  {
    document_id: Id,
    version: T.Optional(
      T.Integer({
        minimum: 1,
        description: "The version that the edits were made for: if there is a later one the call is refused",
      }),
    ),
    edits: T.Optional(
      T.Array(DocumentEdit, {
        minItems: 1,
        maxItems: EDITS_PER_CALL_MAX,
        description: "Done one after another",
      }),
    ),
    instruction: T.Optional(
      T.String({ minLength: 1, maxLength: 20_000, description: "What a language model is to change" }),
    ),
  },
  eitherOr(exactlyOne("edits", "instruction")),
)

const versionFields = {
  version: T.Integer({ description: "1 for the first" }),
  format: Format,
  title: T.String({ description: "Title of this version" }),
  template: Nullable(T.String(), {
    description: "Id of the template that it was made from, `custom` for one of your own; null without",
  }),
  file_name: T.String({ description: "Name of the file" }),
  content_type: T.String({ description: "Media type of the file" }),
  bytes: T.Integer({ description: "Size of the file in its format" }),
  sha256: T.String({
    description: "SHA-256 of what the version is made from: text, data, edits and style. It never changes",
  }),
  download_url: T.String({ description: "Path to download this version" }),
  method: OneOf(["embedded", "local-model", "upstream"], { description: "What wrote the text" }),
  created_at: Time,
}

export const DocumentVersion = T.Object(versionFields)
export const DocumentPayload = T.Object({ id: Id, ...versionFields })

export const DocumentSummary = T.Object({
  id: Id,
  title: T.String({ description: "Title of the latest version" }),
  format: Format,
  version: T.Integer({ description: "The latest version" }),
  download_url: T.String({ description: "Path to download the latest version" }),
  created_at: Time,
  updated_at: described(Time, "RFC 3339 time in UTC when the latest version was made"),
})

export const DocumentPreview = T.Object({
  title: T.String({ description: "Title that the document would have" }),
  html: T.String({ description: "A whole page without scripts, images or anything else that is loaded" }),
  words: T.Integer({ description: "Number of words" }),
  blocks: T.Integer({ description: "Number of blocks that `#1` and so on can name" }),
  method: OneOf(["embedded", "local-model", "upstream"], { description: "What wrote the text" }),
})

export const DocumentFormatPayload = T.Object({
  format: Format,
  title: T.String({ description: "Name of the format" }),
  content_type: T.String({ description: "Media type of its files" }),
  extension: T.String({ description: "How names of its files end" }),
})

export const DocumentTemplate = T.Object({
  id: T.String({ description: "What `template` takes" }),
  title: T.String({ description: "What it is" }),
  description: T.String({ description: "What it is for" }),
  format: Format,
  variables: T.Array(
    T.Object({
      name: T.String(),
      required: T.Boolean({ description: "Whether it must be given" }),
      description: T.String({ description: "What it is, with the fields of a list's items" }),
    }),
    { description: "What `data` takes" },
  ),
  source: T.String({ description: "Its Markdown with Liquid, to make your own from" }),
  example: T.Record(T.String(), T.Unknown(), { description: "A `data` that fills it" }),
})

export const DocumentStatus = T.Object({
  status: OneOf(["available"], { description: "Documents from text, templates and edits need no model" }),
  formats: T.Array(Format, { description: "What can be made" }),
  documents: T.Integer({ description: "Documents of the project" }),
  documents_max: T.Integer({ description: "How many it can have" }),
  versions: T.Integer({ description: "Versions of all documents of the project" }),
  prompts: T.Object(
    {
      available: T.Boolean({ description: "Whether `prompt` and `instruction` work" }),
      reason: Nullable(T.String(), { description: "Why not; null where they do" }),
    },
    { description: "Whether a model writes" },
  ),
})
