//! What is read in dialects with a key and a value for each argument.
use crate::kit::check;

#[test]
fn values_are_what_the_schema_says() {
    let spark = [
        (
            "a<tool_call>look<arg_key>path</arg_key><arg_value>1</arg_value><arg_key>lines</arg_key><arg_value>2</arg_value></tool_call>b",
            "a«look {\"path\":\"1\",\"lines\":2}»b",
        ),
        ("<tool_call>look</tool_call>", "«look {}»"),
        ("<tool_call>look<arg_key>path</tool_call>", "<tool_call>look<arg_key>path</tool_call>!"),
        ("<tool_call>look<arg_key>pa", "!"),
        ("<tool_call>rm -rf /</tool_call>", "<tool_call>rm -rf /</tool_call>!"),
        ("<tool_call>{\"name\":\"look\",}</tool_call>", "<tool_call>{\"name\":\"look\",}</tool_call>!"),
    ];
    check("spark25", &spark);
    let hunyuan = [(
        "<tool_calls>\n<tool_call>look<tool_sep>\n<arg_key>lines</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n</tool_calls>",
        "\n«look {\"lines\":2}»\n",
    )];
    check("hy_v3", &hunyuan);
    let horizon = [
        (
            "<ifm|think>t</ifm|think><ifm|tool_calls><ifm|tool_call>look<ifm|arg_key>lines</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>2</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
            "~t~«look {\"lines\":\"2\"}»",
        ),
        (
            "<ifm|tool_call>{\"name\":\"look\",\"arguments\":{\"lines\":\"2\"}}</ifm|tool_call>",
            "«look {\"lines\":2}»",
        ),
    ];
    check("k2_horizon", &horizon);
    let dots = [
        (
            "<dots_function_call><invoke name=\"look\"><parameter name=\"path\">2</parameter></invoke></dots_function_call>",
            "«look {\"path\":\"2\"}»",
        ),
        ("<dots_function_call>{\"name\":\"look\"}</dots_function_call>a <", "«look {}»a <"),
        ("a<dots_func", "a!"),
    ];
    check("dots", &dots);
}
