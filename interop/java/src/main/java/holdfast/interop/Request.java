package holdfast.interop;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A flat JSON object of texts without escapes and whole numbers: all that our tests send. */
record Request(Map<String, String> fields) {
  private static final Pattern FIELD = Pattern.compile("\"(\\w+)\":(?:\"([^\"\\\\]*)\"|(-?\\d+))");

  static Request parse(String line) {
    Map<String, String> fields = new HashMap<>();
    Matcher matcher = FIELD.matcher(line);
    while (matcher.find()) {
      fields.put(matcher.group(1), matcher.group(2) == null ? matcher.group(3) : matcher.group(2));
    }
    return new Request(fields);
  }

  String text(String field) {
    String value = fields.get(field);
    if (value == null) throw new IllegalArgumentException("expected the field " + field + ", got " + fields);
    return value;
  }

  long number(String field) {
    return Long.parseLong(text(field));
  }

  long number(String field, long otherwise) {
    return fields.containsKey(field) ? number(field) : otherwise;
  }
}
