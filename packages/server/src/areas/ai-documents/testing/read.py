"""Prints as JSON what other programs read in the files offer.docx, .pdf, .pptx and .xlsx of a folder."""
import json, sys, warnings
import docx, openpyxl, pptx, pypdf

warnings.simplefilter("ignore")
folder = sys.argv[1]
word = docx.Document(f"{folder}/offer.docx")
slides = pptx.Presentation(f"{folder}/offer.pptx").slides
book = openpyxl.load_workbook(f"{folder}/offer.xlsx")
print(json.dumps({
    "docx": [p.text for p in word.paragraphs if p.text] + [[c.text for c in r.cells] for t in word.tables for r in t.rows],
    "pdf": "\n".join(page.extract_text() for page in pypdf.PdfReader(f"{folder}/offer.pdf").pages),
    "pptx": [s.text_frame.text for slide in slides for s in slide.shapes if s.has_text_frame],
    "xlsx": {s.title: [[[c.value, c.data_type] for c in r] for r in s.rows] for s in book},
}))
