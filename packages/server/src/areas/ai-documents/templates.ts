/** The templates that every installation has. */
import type { DocumentFormat } from "@svc/contract"

export interface TemplateVariable {
  readonly name: string
  readonly required: boolean
  readonly description: string
}

export interface DocumentTemplate {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly format: DocumentFormat
  readonly variables: readonly TemplateVariable[]
  readonly source: string
  readonly example: Readonly<Record<string, unknown>>
}

const required = (name: string, description: string): TemplateVariable => ({
  name,
  required: true,
  description,
})
const optional = (name: string, description: string): TemplateVariable => ({
  name,
  required: false,
  description,
})

const invoice: DocumentTemplate = {
  id: "invoice",
  title: "Invoice",
  description: "Items with quantities and prices, their sum, tax and total",
  format: "pdf",
  variables: [
    required("number", "Number of the invoice"),
    required("date", "Its date, as it is to be printed"),
    required("seller", "Name and address of who sends it; line breaks are kept"),
    required("customer", "Name and address of who gets it; line breaks are kept"),
    required("items", "List of {description, quantity, price}"),
    optional("currency", "EUR when left out"),
    optional("tax_percent", "0 when left out"),
    optional("due", "When it is to be paid"),
    optional("notes", "What is written below"),
  ],
  source: `{%- assign currency = currency | default: "EUR" -%}
{%- assign tax_percent = tax_percent | default: 0 -%}
{%- assign sum = 0 -%}
# Invoice {{ number }}

{{ seller }}

**To:** {{ customer }}

**Date:** {{ date }}{% if due %}  
**Due:** {{ due }}{% endif %}

| Description | Quantity | Price | Amount |
| --- | ---: | ---: | ---: |
{% for item in items -%}
{%- assign amount = item.quantity | times: item.price | round: 2 -%}
{%- assign sum = sum | plus: amount | round: 2 -%}
| {{ item.description }} | {{ item.quantity }} | {{ item.price }} | {{ amount }} |
{% endfor -%}
{%- assign tax = sum | times: tax_percent | divided_by: 100.0 | round: 2 -%}
{%- assign total = sum | plus: tax | round: 2 %}
**Sum:** {{ sum }} {{ currency }}{% if tax > 0 %}  
**Tax ({{ tax_percent }} %):** {{ tax }} {{ currency }}{% endif %}  
**Total: {{ total }} {{ currency }}**

{% if notes %}{{ notes }}{% endif %}
`,
  example: {
    ...{ number: "2026-001", date: "1 March 2026", due: "31 March 2026", tax_percent: 19 },
    seller: "Orchard Ltd\n1 Apple Lane",
    customer: "Grocer Ltd\n2 Market Street",
    items: [
      { description: "Apples, a box", quantity: 3, price: 12.5 },
      { description: "Delivery", quantity: 1, price: 9.9 },
    ],
  },
}

const letter: DocumentTemplate = {
  id: "letter",
  title: "Letter",
  description: "A letter with sender, recipient, subject and text",
  format: "docx",
  variables: [
    required("sender", "Name and address; line breaks are kept"),
    required("recipient", "Name and address; line breaks are kept"),
    required("date", "Date, as it is to be printed"),
    required("subject", "What it is about"),
    required("body", "The text, in Markdown"),
    optional("greeting", "Dear Sir or Madam, when left out"),
    optional("closing", "Yours faithfully, when left out"),
    required("signature", "Name below it"),
  ],
  source: `{{ sender }}

{{ recipient }}

{{ date }}

**{{ subject }}**

{{ greeting | default: "Dear Sir or Madam," }}

{{ body | raw }}

{{ closing | default: "Yours faithfully," }}

{{ signature }}
`,
  example: {
    sender: "Orchard Ltd\n1 Apple Lane",
    recipient: "Grocer Ltd\n2 Market Street",
    ...{ date: "1 March 2026", subject: "Your order", signature: "A. Farmer" },
    body: "thank you for your order of **three boxes** of apples.\n\nThey arrive on Monday.",
  },
}

const report: DocumentTemplate = {
  id: "report",
  title: "Report",
  description: "Summary, sections with text and tables, conclusion",
  format: "docx",
  variables: [
    required("title", "Title"),
    optional("author", "Who wrote it"),
    optional("date", "Date, as it is to be printed"),
    optional("summary", "In Markdown"),
    required("sections", "List of {title, text in Markdown, columns and rows of a table}"),
    optional("conclusion", "In Markdown"),
  ],
  source: `# {{ title }}

{% if author %}*{{ author }}*{% endif %}{% if author and date %}, {% endif %}{{ date | default: "" }}

{% if summary %}## Summary

{{ summary | raw }}
{% endif %}
{% for section in sections %}
## {{ section.title }}

{{ section.text | raw }}
{% if section.columns %}
|{% for column in section.columns %} {{ column }} |{% endfor %}
|{% for column in section.columns %} --- |{% endfor %}
{% for row in section.rows %}|{% for cell in row %} {{ cell }} |{% endfor %}
{% endfor %}{% endif %}
{% endfor %}
{% if conclusion %}## Conclusion

{{ conclusion | raw }}
{% endif %}`,
  example: {
    ...{ title: "Harvest 2026", author: "A. Farmer", date: "1 November 2026" },
    summary: "A good year: **12 %** more than the last.",
    sections: [
      {
        title: "Yield",
        text: "In tonnes.",
        columns: ["Kind", "2025", "2026"],
        rows: [
          ["Apples", 100, 112],
          ["Pears", 50, 56],
        ],
      },
    ],
    conclusion: "More of the same.",
  },
}

const minutes: DocumentTemplate = {
  id: "minutes",
  title: "Minutes",
  description: "Who met, what was said and decided, and who does what",
  format: "docx",
  variables: [
    required("title", "Name of the meeting"),
    required("date", "When it was"),
    required("present", "List of names"),
    required("topics", "List of {title, notes in Markdown, decision}"),
    optional("actions", "List of {what, who, due}"),
  ],
  source: `# {{ title }}

**Date:** {{ date }}  
**Present:** {% for name in present %}{{ name }}{% unless forloop.last %}, {% endunless %}{% endfor %}

{% for topic in topics %}
## {{ topic.title }}

{{ topic.notes | raw }}

{% if topic.decision %}> **Decision:** {{ topic.decision }}
{% endif %}
{% endfor %}
{% if actions %}## Actions

| What | Who | Due |
| --- | --- | --- |
{% for action in actions %}| {{ action.what }} | {{ action.who }} | {{ action.due }} |
{% endfor %}{% endif %}`,
  example: {
    ...{ title: "Planning", date: "2 March 2026", present: ["A. Farmer", "B. Grocer"] },
    topics: [{ title: "Spring", notes: "New trees are needed.", decision: "Buy twenty." }],
    actions: [{ what: "Order trees", who: "A. Farmer", due: "9 March" }],
  },
}

const slides: DocumentTemplate = {
  id: "slides",
  title: "Slides",
  description: "A title slide, and a slide with points for each topic",
  format: "pptx",
  variables: [
    required("title", "Title"),
    optional("subtitle", "Below it"),
    required("topics", "List of {title, points}"),
  ],
  source: `# {{ title }}

{{ subtitle | default: "" }}

{% for topic in topics %}
## {{ topic.title }}

{% for point in topic.points %}- {{ point }}
{% endfor %}
{% endfor %}`,
  example: {
    ...{ title: "Harvest 2026", subtitle: "Orchard Ltd" },
    topics: [{ title: "Yield", points: ["Apples: 112 t", "Pears: 56 t"] }],
  },
}

export const templates: readonly DocumentTemplate[] = [invoice, letter, report, minutes, slides]
